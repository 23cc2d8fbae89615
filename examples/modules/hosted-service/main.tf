terraform {
  required_version = ">= 1.8"

  required_providers {
    bk = { source = "blueking/bk" }
  }
}

locals {
  binary = coalesce(var.binary, var.name)

  # A field that is null has its default, like one that is not set.
  rollout = merge(
    {
      waves      = try(var.rollout.batch_size, null) == null ? ["1", "25%"] : null
      on_failure = "rollback"
      # Only a process that is meant to run can be watched.
      healthy = var.ensure == "running" || var.on_update != "register" ? { stable_for = "30s", within = "3m" } : null
    },
    { for field, value in var.rollout : field => value if value != null },
  )

  # Five waves take this long at most.
  timeouts = merge({ create = "30m", update = "30m" }, { for field, value in var.timeouts : field => value if value != null })
}

# Hosted, started if it does not run, and restarted when its declaration changes.
resource "bk_hosted_process" "this" {
  meta = {
    namespace = var.namespace
    name      = var.name
    labels    = var.labels
  }

  hosts = var.hosts

  spec = {
    identity = {
      proc_name   = local.binary
      setup_path  = var.directory
      pid_path    = coalesce(var.pid_path, "${var.directory}/${local.binary}.pid")
      user        = var.user
      config_path = var.config_path
      log_path    = var.log_path
    }
    control = {
      start_cmd   = try(var.commands.start, null)
      stop_cmd    = try(var.commands.stop, null)
      restart_cmd = try(var.commands.restart, null)
      reload_cmd  = try(var.commands.reload, null)
      kill_cmd    = try(var.commands.kill, null)
      version_cmd = try(var.commands.version, null)
      health_cmd  = try(var.commands.health, null)
    }
    resource       = var.limits
    monitor_policy = merge({ auto_type = 1 }, { for field, value in var.monitor : field => value if value != null })
    # This is part of the declaration, so a change of both commands and file is one restart.
    configmap = var.config_hash == null ? null : [{ path = var.config_path, md5 = var.config_hash }]
  }

  ensure                = var.ensure
  on_update             = var.on_update
  rollout               = local.rollout
  safety                = var.safety
  on_destroy            = var.on_destroy
  adopt_existing        = var.adopt_existing
  max_unreachable_hosts = var.max_unreachable_hosts
  verify                = var.verify
  forget_unreachable    = var.forget_unreachable
  on_partial_create     = var.on_partial_create
  timeouts              = local.timeouts

  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${length(self.out_of_sync)} in out_of_sync."
    }
  }
}

data "bk_process_status" "this" {
  process = bk_hosted_process.this.process

  depends_on = [bk_hosted_process.this] # read only after a change of it
}
