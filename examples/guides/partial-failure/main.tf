resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2", web-3 = "0:10.0.0.3" }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/usr/sbin", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx", stop_cmd = "./nginx -s quit && while [ -e /run/nginx.pid ]; do sleep 1; done" }
    monitor_policy = { auto_type = 1 }
  }

  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${length(self.out_of_sync)} in out_of_sync."
    }
  }
}
