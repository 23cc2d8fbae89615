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

# Runs again whenever the configuration has another hash. It also runs when it is
# created and on hosts that are new, right after they were started.
resource "bk_process_operation" "restart" {
  count = var.config_hash == null ? 0 : 1

  meta      = bk_hosted_process.this.meta
  hosts     = bk_hosted_process.this.hosts
  spec      = bk_hosted_process.this.spec
  operation = "restart"
  triggers  = { config = var.config_hash }
  rollout   = var.rollout
}

data "bk_process_status" "this" {
  meta  = bk_hosted_process.this.meta
  hosts = bk_hosted_process.this.hosts
  spec  = bk_hosted_process.this.spec

  depends_on = [bk_process_operation.restart]
}
