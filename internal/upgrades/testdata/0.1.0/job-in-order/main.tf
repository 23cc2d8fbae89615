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

resource "bk_job_hosted_process" "redis" {
  bk_biz_id = 2
  hosts     = { web-1 = "0:10.0.0.1" }

  process = {
    proc_name  = "redis"
    setup_path = "/srv/redis"
    pid_path   = "/run/redis.pid"
    start_cmd  = "./redis"
    type       = 1
  }
}

resource "bk_job_process_operation" "start" {
  processes = {
    front = { declaration = bk_job_hosted_process.web.declaration, priority = 2 }
    back = {
      bk_biz_id = bk_job_hosted_process.redis.bk_biz_id
      hosts     = bk_job_hosted_process.redis.hosts
      process   = bk_job_hosted_process.redis.process
      priority  = 1
    }
  }
  operation = "start"
  order     = "ascending"
}
