# A small web service, hosted on three machines. run.sh tells the story.

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

# The agents of these hosts know the process, and revive it when it dies.
resource "bk_hosted_process" "web" {
  meta = {
    namespace = "demo"
    name      = "web"
  }

  hosts = {
    web-1 = "0:127.0.0.1"
    web-2 = "0:127.0.0.2"
    web-3 = "0:127.0.0.3"
  }

  spec = {
    identity = {
      proc_name  = "web"
      setup_path = "/opt/web"
      pid_path   = "/opt/web/web.pid"
      user       = "web"
    }
    control = {
      start_cmd   = "./start.sh ${var.port}"
      stop_cmd    = "./stop.sh"
      kill_cmd    = "kill -9 $(cat web.pid)"
      version_cmd = "./web -version"
    }
    resource       = { cpu = 50, mem = 10 }
    monitor_policy = { auto_type = 1, start_check_secs = 1 }
  }

  on_destroy = "stop"
}

# Hosting does not start anything. This starts the process, once.
resource "bk_process_operation" "start" {
  meta      = bk_hosted_process.web.meta
  hosts     = bk_hosted_process.web.hosts
  spec      = bk_hosted_process.web.spec
  operation = "start"
}

data "bk_process_status" "web" {
  meta  = bk_hosted_process.web.meta
  hosts = bk_hosted_process.web.hosts
  spec  = bk_hosted_process.web.spec

  depends_on = [bk_process_operation.start]
}

# Pids change, so leave them out if a pipeline looks for drift.
output "status" {
  value = {
    for host, s in data.bk_process_status.web.statuses :
    host => format("%s, hosted: %v, pid: %v", s.state, s.hosted, s.pid)
  }
}
