terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {}

# Another release restarts the process on every host, 50 at a time.
variable "release" {
  type    = string
  default = "1"
}

resource "bk_hosted_process" "web" {
  meta   = { namespace = "web", name = "nginx" }
  ensure = "running"

  # web-0001 is 0:10.0.0.1, web-1000 is 0:10.0.3.250.
  hosts = { for n in range(1000) : format("web-%04d", n + 1) => "0:10.0.${floor(n / 250)}.${n % 250 + 1}" }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx -c ${var.release}.conf", stop_cmd = "./stop.sh", restart_cmd = "./restart.sh" }
    monitor_policy = { auto_type = 1 }
  }

  on_update = "restart"
  rollout   = { batch_size = 50, pause = "1s", max_failed_hosts = 5 }
}
