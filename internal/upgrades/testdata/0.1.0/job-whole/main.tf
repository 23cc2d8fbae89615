terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {
  gateway = "esb"
}

resource "bk_job_hosted_process" "web" {
  bk_biz_id = 2
  hosts     = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }

  process = {
    proc_name   = "nginx"
    setup_path  = "/srv/web"
    pid_path    = "/run/nginx.pid"
    start_cmd   = "./nginx"
    stop_cmd    = "./nginx -s quit"
    restart_cmd = "./restart.sh"
    type        = 1
    cpu_lmt     = 30
    mem_lmt     = 10
  }

  ensure             = "running"
  adopt_existing     = true
  on_update          = "restart"
  on_destroy         = "stop"
  on_partial_create  = "error"
  forget_unreachable = true
  registration_api   = "operate_process"
  safety             = { max_removed_hosts = 2 }

  rollout  = { batch_size = 1 }
  timeouts = { create = "5m", read = "1m", update = "5m", delete = "5m" }
}

resource "bk_job_process_operation" "restart" {
  bk_biz_id = bk_job_hosted_process.web.bk_biz_id
  hosts     = bk_job_hosted_process.web.hosts
  process   = bk_job_hosted_process.web.process

  operation = "restart"
  triggers  = { run = "1" }
  rollout   = { waves = ["1", "100%"] }
}
