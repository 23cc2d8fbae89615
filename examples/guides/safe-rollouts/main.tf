variable "release" {
  type    = string
  default = "1.4"
}

variable "deletion_protection" {
  type    = bool
  default = true
}

resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { for n in range(1, 201) : format("web-%03d", n) => "0:10.0.0.${n}" }

  spec = {
    identity = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "web" }
    control = {
      start_cmd   = "./start.sh ${var.release}"
      stop_cmd    = "./stop.sh"
      restart_cmd = "./restart.sh ${var.release}"
      health_cmd  = "./health.sh" # prints ok
    }
    monitor_policy = { auto_type = 1 }
  }

  ensure    = "running"
  on_update = "restart"

  rollout = {
    canary     = ["web-007"]
    waves      = ["5%", "*2"]
    healthy    = { stable_for = "60s", within = "5m", output = "^ok" }
    on_failure = "rollback"
  }

  max_unreachable_hosts = "2%"

  safety = {
    max_removed_hosts   = "10%"
    deletion_protection = var.deletion_protection
  }

  timeouts = { create = "2h", update = "2h" }

  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${length(self.out_of_sync)} in out_of_sync."
    }
  }
}
