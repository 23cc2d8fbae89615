terraform {
  required_version = ">= 1.8"

  required_providers {
    bk = { source = "blueking/bk" }
  }
}

locals {
  # A field that is null has its default, like one that is not set.
  rollout = merge(
    {
      waves      = try(var.rollout.batch_size, null) == null ? ["1", "25%"] : null
      on_failure = "rollback"
      healthy    = { stable_for = "30s", within = "3m" }
    },
    { for field, value in var.rollout : field => value if value != null },
  )

  # Five waves take this long at most.
  timeouts = merge({ create = "30m", update = "30m" }, { for field, value in var.timeouts : field => value if value != null })

  # Whether a change leads to running processes, which rollout.healthy can watch.
  watches = var.ensure == "running" || var.on_update != "register"

  binary = { for name, process in var.processes : name => coalesce(try(process.binary, null), name) }

  processes = { for name, process in bk_hosted_process.this : name => { process = process.process, priority = coalesce(try(var.processes[name].priority, null), 0) } }
}

# A changed command restarts only its own process.
resource "bk_hosted_process" "this" {
  for_each = var.processes

  meta = {
    namespace = var.namespace
    name      = each.key
    labels    = var.labels
  }

  hosts = coalesce(try(each.value.hosts, null), var.hosts)

  spec = {
    identity = {
      proc_name   = local.binary[each.key]
      setup_path  = each.value.directory
      pid_path    = coalesce(try(each.value.pid_path, null), "${each.value.directory}/${local.binary[each.key]}.pid")
      user        = coalesce(try(each.value.user, null), "root")
      config_path = try(each.value.config_path, null)
      log_path    = try(each.value.log_path, null)
    }
    control = {
      start_cmd   = try(each.value.commands.start, null)
      stop_cmd    = try(each.value.commands.stop, null)
      restart_cmd = try(each.value.commands.restart, null)
      reload_cmd  = try(each.value.commands.reload, null)
      kill_cmd    = try(each.value.commands.kill, null)
      version_cmd = try(each.value.commands.version, null)
      health_cmd  = try(each.value.commands.health, null)
    }
    resource       = try(each.value.limits, null)
    monitor_policy = merge({ auto_type = 1 }, try({ for field, value in each.value.monitor : field => value if value != null }, {}))
  }

  ensure                = var.ensure
  on_update             = var.on_update
  rollout               = merge(local.rollout, { healthy = local.watches ? local.rollout.healthy : null })
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

# Lower priorities are started first, both when the module is created and when hosts or
# processes join. The next priority begins once the one before is stable.
resource "bk_process_operation" "start" {
  processes             = local.processes
  operation             = "start"
  rollout               = merge(local.rollout, { on_failure = "stop" }) # an operation has no declaration to go back to
  max_unreachable_hosts = var.max_unreachable_hosts
  timeouts              = { create = local.timeouts.create, update = local.timeouts.update }

  lifecycle {
    postcondition {
      condition     = length(self.failed_hosts) == 0
      error_message = "Not on every host: ${join(", ", keys(self.failed_hosts))}."
    }
  }
}

resource "bk_process_operation" "this" {
  processes             = local.processes
  operation             = var.operation
  order                 = var.order
  triggers              = var.triggers
  run_on_create         = false
  max_unreachable_hosts = var.max_unreachable_hosts
  timeouts              = { create = local.timeouts.create, update = local.timeouts.update }
  # Stopped processes are not watched.
  rollout = merge(local.rollout, { on_failure = "stop", healthy = contains(["stop", "kill"], var.operation) ? null : local.rollout.healthy })

  depends_on = [bk_process_operation.start]
}

data "bk_process_status" "this" {
  for_each = bk_hosted_process.this

  process = each.value.process

  depends_on = [bk_process_operation.this]
}
