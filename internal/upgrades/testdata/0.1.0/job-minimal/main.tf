terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {
  gateway = "esb"
}

resource "bk_job_hosted_process" "web" {
  scope = { type = "biz", id = "2" }
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }

  process = {
    proc_name  = "nginx"
    setup_path = "/srv/web"
    pid_path   = "/run/nginx.pid"
    start_cmd  = "./nginx"
    type       = 1
  }
}

resource "bk_job_process_operation" "web" {
  declaration = bk_job_hosted_process.web.declaration
  operation   = "start"
}
