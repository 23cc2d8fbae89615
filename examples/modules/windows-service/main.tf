terraform {
  required_version = ">= 1.8"

  required_providers {
    bk = { source = "blueking/bk" }
  }
}

locals {
  service  = coalesce(var.service, var.name)
  pid_path = coalesce(var.pid_path, "${var.directory}\\${local.service}.pid")

  # Windows does not write the process id of a service to a file, where the agent looks for
  # it. The scripts contain no double quotes, so that cmd.exe takes each command as it is.
  powershell = "powershell -NoProfile -NonInteractive -Command \"$ErrorActionPreference = 'Stop'; %s\""
  write_pid  = "(Get-CimInstance Win32_Service | Where-Object Name -EQ '${local.service}').ProcessId | Set-Content -Encoding ascii '${local.pid_path}'"

  scripts = {
    start   = "Start-Service '${local.service}'; ${local.write_pid}"
    stop    = "Stop-Service -Force '${local.service}'"
    restart = "Restart-Service -Force '${local.service}'; ${local.write_pid}"
    kill    = "Stop-Process -Force -Id (Get-Content '${local.pid_path}')"
    version = "(Get-Item '${var.directory}\\${var.binary}').VersionInfo.ProductVersion"
    health  = "(Get-Service '${local.service}').Status"
  }

  # A command that is null is that of the module, like one that is not set.
  commands = merge(
    { for name, script in local.scripts : name => format(local.powershell, script) },
    { for name, command in var.commands : name => command if command != null },
  )
}

module "service" {
  source = "../hosted-service"

  namespace = var.namespace
  hosts     = var.hosts

  name        = var.name
  labels      = var.labels
  binary      = var.binary
  directory   = var.directory
  pid_path    = local.pid_path
  user        = var.user
  config_path = var.config_path
  log_path    = var.log_path
  commands    = local.commands
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
