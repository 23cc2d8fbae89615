terraform {
  required_version = ">= 1.8"

  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# Hosted, and started where it does not run.
resource "bk_hosted_process" "this" {
  meta = {
    namespace = var.namespace
    name      = var.name
    labels    = var.labels
  }

  hosts  = var.hosts
  ensure = "running"

  spec = {
    identity = {
      proc_name   = var.binary
      setup_path  = var.directory
      pid_path    = coalesce(var.pid_path, "${var.directory}/${var.binary}.pid")
      user        = var.user
      config_path = var.config_path
    }
    control = {
      start_cmd   = var.commands.start
      stop_cmd    = var.commands.stop
      restart_cmd = var.commands.restart
    }
    resource       = var.limits
    monitor_policy = { auto_type = 1 }
  }

  on_destroy = "stop"
  rollout    = var.rollout

  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${join(", ", keys(self.out_of_sync))}."
    }
  }
}

# Runs whenever the configuration has another hash. Creating it runs nothing: the process was
# started a moment ago. So it was on a host that joins later, where it runs all the same: what
# bk_hosted_process has started there is restarted in the same apply.
resource "bk_process_operation" "restart" {
  count = var.config_hash == null ? 0 : 1

  process       = bk_hosted_process.this.process
  operation     = "restart"
  run_on_create = false
  triggers      = { config = var.config_hash }
  rollout       = var.rollout
}

data "bk_process_status" "this" {
  process = bk_hosted_process.this.process

  depends_on = [bk_process_operation.restart]
}
