terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {}

resource "bk_hosted_process" "web" {
  meta   = { namespace = "web", name = "nginx" }
  ensure = "running"
  hosts  = { for n in range(1, 7) : "web-${n}" => "0:10.0.0.${n}" }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx", stop_cmd = "./stop.sh", restart_cmd = "./restart.sh" }
    resource       = { cpu = 50, mem = 20 }
    monitor_policy = { auto_type = 1 }
  }
}

output "out_of_sync" {
  value = bk_hosted_process.web.out_of_sync
}
