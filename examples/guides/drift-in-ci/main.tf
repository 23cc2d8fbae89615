resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }

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

  lifecycle {
    postcondition {
      condition     = self.running_count == length(self.statuses)
      error_message = "Not running everywhere: ${jsonencode({ for k, s in self.statuses : k => s.state if s.state != "running" })}"
    }
  }
}
