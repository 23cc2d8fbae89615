terraform {
  required_version = ">= 1.8"

  required_providers {
    bk = { source = "blueking/bk" }
  }
}

locals {
  # Whether a change leads to running processes, which rollout.healthy can watch.
  watches = var.ensure == "running" || var.on_update != "register"
}

# The processes that GSEKit or BSCP runs, as they run them.
data "bk_cmdb_processes" "this" {
  bk_biz_id    = var.bk_biz_id
  topology     = var.topology
  process_name = var.process_name
  inst_ids     = var.inst_ids
  group_by     = var.group_by
  address      = var.address
  key          = var.key
  min_hosts    = var.min_hosts
}

# min_hosts counts the hosts of all modules together, so one of many modules could be
# emptied without notice.
data "bk_hosts" "module" {
  for_each = var.min_hosts_by_module

  bk_biz_id = var.bk_biz_id
  topology  = merge(var.topology, { module = each.key })
  address   = var.address
  key       = var.key
  min_hosts = each.value
}

resource "bk_hosted_process" "this" {
  for_each = data.bk_cmdb_processes.this.processes

  meta  = each.value.meta
  hosts = each.value.hosts
  spec  = each.value.spec

  ensure                = var.ensure
  on_update             = var.on_update
  rollout               = var.rollout == null ? null : merge(var.rollout, { healthy = local.watches || var.operation == null ? try(var.rollout.healthy, null) : null })
  safety                = var.safety
  on_destroy            = var.on_destroy
  adopt_existing        = var.adopt_existing
  max_unreachable_hosts = var.max_unreachable_hosts
  verify                = var.verify
  forget_unreachable    = var.forget_unreachable
  on_partial_create     = var.on_partial_create
  timeouts              = var.timeouts

  # Nothing is planned before every module has its hosts.
  depends_on = [data.bk_hosts.module]

  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${length(self.out_of_sync)} in out_of_sync."
    }
  }
}

# Lower priorities are started first, and stopped and restarted last, as GSEKit and BSCP do it.
resource "bk_process_operation" "this" {
  count = var.operation == null ? 0 : 1

  processes             = data.bk_cmdb_processes.this.processes
  operation             = var.operation
  order                 = var.order
  triggers              = var.triggers
  run_on_create         = var.run_on_create
  max_unreachable_hosts = var.max_unreachable_hosts
  timeouts              = { create = try(var.timeouts.create, "10m"), update = try(var.timeouts.update, "10m") }
  # An operation has no declaration to go back to, and stopped processes are not watched.
  rollout = var.rollout == null ? null : merge(var.rollout, { on_failure = "stop", healthy = contains(["stop", "kill"], var.operation) ? null : try(var.rollout.healthy, null) })

  # Only registered processes can be operated.
  depends_on = [bk_hosted_process.this]
}
