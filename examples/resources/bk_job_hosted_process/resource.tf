resource "bk_job_hosted_process" "web" {
  scope = { type = "biz", id = "2" } # or bk_biz_id = 2

  hosts = {
    web-1 = "0:10.0.0.1"
    web-2 = "0:10.0.0.2"
  }

  process = {
    proc_name   = "nginx"
    setup_path  = "/usr/sbin"
    pid_path    = "/run/nginx.pid"
    start_cmd   = "./nginx"
    stop_cmd    = "./nginx -s quit && while [ -e /run/nginx.pid ]; do sleep 1; done"
    restart_cmd = "./nginx -s stop && while [ -e /run/nginx.pid ]; do sleep 1; done; ./nginx"
    type        = 1
  }
}
