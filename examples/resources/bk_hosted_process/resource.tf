resource "bk_hosted_process" "web" {
  meta = {
    namespace = "web"
    name      = "nginx"
    labels    = { team = "sre" }
  }

  hosts = {
    web-1 = "0:10.0.0.1"
    web-2 = "0:10.0.0.2"
  }

  spec = {
    identity = {
      proc_name  = "nginx"
      setup_path = "/usr/sbin"
      pid_path   = "/run/nginx.pid"
      user       = "root"
    }

    # Stop and restart wait until the old process has ended and its port is free.
    control = {
      start_cmd   = "./nginx"
      stop_cmd    = "./nginx -s quit && while [ -e /run/nginx.pid ]; do sleep 1; done"
      reload_cmd  = "./nginx -s reload"
      restart_cmd = "./nginx -s stop && while [ -e /run/nginx.pid ]; do sleep 1; done; ./nginx"
    }

    # No limits (resource) are set: an agent stops a process that exceeds them, again and again.
    monitor_policy = { auto_type = 1, start_check_secs = 5 }
  }

  # A create that fails on some hosts only warns, so that Terraform does not replace the
  # others. This makes such an apply fail.
  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${length(self.out_of_sync)} in out_of_sync."
    }
  }
}
