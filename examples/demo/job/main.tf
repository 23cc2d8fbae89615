# The same service, hosted through BlueKing JOB. run.sh tells the story.

terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# Endpoint and credentials come from the environment: BK_ENDPOINT, BK_APP_CODE, ...
provider "bk" {}

variable "port" {
  description = "Port that the service listens on, on every host."
  type        = number
  default     = 8080
}

locals {
  scope = { type = "biz", id = "2" }

  hosts = {
    web-1 = "0:127.0.0.1"
    web-2 = "0:127.0.0.2"
    web-3 = "0:127.0.0.3"
  }

  web = {
    proc_name              = "web"
    setup_path             = "/opt/web"
    pid_path               = "/opt/web/web.pid"
    account                = "web"
    start_cmd              = "./start.sh ${var.port}"
    stop_cmd               = "./stop.sh"
    kill_cmd               = "kill -9 $(cat web.pid)"
    type                   = 1
    cpu_lmt                = 50
    mem_lmt                = 10
    start_check_begin_time = 1
    start_check_end_time   = 1
  }
}

# The agents of these hosts know the process, and revive it when it dies.
resource "bk_job_hosted_process" "web" {
  scope      = local.scope
  hosts      = local.hosts
  process    = local.web
  on_destroy = "stop"
}

# Hosting does not start anything. This starts the process, once.
resource "bk_job_process_operation" "start" {
  scope     = bk_job_hosted_process.web.scope
  hosts     = bk_job_hosted_process.web.hosts
  process   = local.web
  operation = "start"
}

data "bk_job_process_status" "web" {
  scope   = bk_job_hosted_process.web.scope
  hosts   = bk_job_hosted_process.web.hosts
  process = local.web

  depends_on = [bk_job_process_operation.start]
}

# Pids change, so leave them out if a pipeline looks for drift.
output "status" {
  value = {
    for host, s in data.bk_job_process_status.web.statuses :
    host => format("%s, hosted: %v, pid: %v", s.state, s.hosted, s.pid)
  }
}
