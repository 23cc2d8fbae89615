variable "release" {
  type    = string
  default = "1.4"
}

resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { for n in range(1, 201) : format("web-%03d", n) => "0:10.0.0.${n}" }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./start.sh ${var.release}", stop_cmd = "./stop.sh", restart_cmd = "./restart.sh ${var.release}" }
    monitor_policy = { auto_type = 1 }
  }

  ensure    = "running"
  on_update = "restart"
  rollout = {
    canary  = ["web-007"]
    waves   = ["10%", "*2"]
    healthy = { stable_for = "30s", within = "3m" }
  }
}
