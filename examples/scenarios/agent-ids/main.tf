terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# Agent ids need the API gateway: BK_GATEWAY=apigw BK_ENDPOINT=<what the simulator printed>/api/bk-gse/prod
provider "bk" {
  gateway = "apigw"
}

variable "agent_ids" {
  description = "Names the hosts by their agent ids, once the platform knows them."
  type        = bool
  default     = false
}

resource "bk_hosted_process" "web" {
  meta   = { namespace = "web", name = "nginx" }
  ensure = "running"

  hosts = {
    web-1 = var.agent_ids ? "0200000007525400f355781710390005465c" : "0:10.0.0.1"
    web-2 = var.agent_ids ? "0200000007525400f355781710390005465d" : "0:10.0.0.2"
  }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx", stop_cmd = "./stop.sh", restart_cmd = "./restart.sh" }
    monitor_policy = { auto_type = 1 }
  }
}
