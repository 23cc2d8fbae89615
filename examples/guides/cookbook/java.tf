resource "bk_hosted_process" "orders" {
  meta  = { namespace = "shop", name = "orders" }
  hosts = { app-1 = "0:10.0.0.1", app-2 = "0:10.0.0.2" }

  spec = {
    identity = {
      proc_name  = "java" # the executable, not the script or the jar
      setup_path = "/srv/orders"
      pid_path   = "/srv/orders/run/orders.pid"
      user       = "app"
    }
    control = {
      start_cmd   = "./bin/start.sh" # nohup java … & echo $! > run/orders.pid
      stop_cmd    = "./bin/stop.sh"  # waits until the process has ended
      restart_cmd = "./bin/stop.sh && ./bin/start.sh"
      health_cmd  = "curl -fsS http://127.0.0.1:8080/health"
    }
    monitor_policy = { auto_type = 1, start_check_secs = 30, op_timeout = 120 }
  }

  ensure    = "running"
  on_update = "restart"
}
