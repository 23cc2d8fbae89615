terraform {
  required_version = ">= 1.8"

  required_providers {
    bk = { source = "blueking/bk" }
  }
}

data "bk_hosts" "this" {
  bk_biz_id        = var.bk_biz_id
  topology         = var.topology
  dynamic_group    = var.dynamic_group
  service_template = var.service_template
  bk_host_ids      = var.bk_host_ids
  filter           = var.filter
  address          = var.address
  key              = var.key
  min_hosts        = var.min_hosts
}

module "service" {
  source = "../hosted-service"

  namespace = coalesce(var.namespace, "BIZ_${var.bk_biz_id}")
  hosts     = data.bk_hosts.this.hosts

  name        = var.name
  labels      = var.labels
  binary      = var.binary
  directory   = var.directory
  pid_path    = var.pid_path
  user        = var.user
  config_path = var.config_path
  log_path    = var.log_path
  commands    = var.commands
  limits      = var.limits
  monitor     = var.monitor
  config_hash = var.config_hash

  ensure                = var.ensure
  on_update             = var.on_update
  rollout               = var.rollout
  safety                = var.safety
  on_destroy            = var.on_destroy
  adopt_existing        = var.adopt_existing
  max_unreachable_hosts = var.max_unreachable_hosts
  verify                = var.verify
  forget_unreachable    = var.forget_unreachable
  on_partial_create     = var.on_partial_create
  timeouts              = var.timeouts
}
