variable "nginx_conf" {
  type    = string
  default = "worker_processes 4;"
}

resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { for n in range(1, 21) : format("web-%02d", n) => "0:10.0.0.${n}" }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx", stop_cmd = "./stop.sh", restart_cmd = "./restart.sh" }
    monitor_policy = { auto_type = 1 }
  }
}

resource "bk_process_operation" "restart" {
  process = bk_hosted_process.web.process

  operation = "restart"
  triggers  = { config = sha256(var.nginx_conf) }
  rollout   = { batch_size = 5, pause = "1s", max_failed_hosts = 2 }
}
