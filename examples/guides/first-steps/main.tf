terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# Endpoint and credentials come from the environment: BK_ENDPOINT, BK_APP_CODE, ...

resource "bk_hosted_process" "web" {
  meta   = { namespace = "web", name = "nginx" }
  hosts  = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  ensure = "running"

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx", stop_cmd = "./nginx -s quit && while [ -e /run/nginx.pid ]; do sleep 1; done" }
    resource       = { cpu = 100, mem = 100 }
    monitor_policy = { auto_type = 1 }
  }
}

data "bk_process_status" "web" {
  process = bk_hosted_process.web.process
}

output "running" {
  value = "${data.bk_process_status.web.running_count} of ${length(data.bk_process_status.web.statuses)}"
}
