resource "bk_process_operation" "migrate" {
  meta  = { namespace = "shop", name = "migrate" }
  hosts = { app-1 = "0:10.0.0.1" }

  spec = {
    identity       = { proc_name = "migrate", setup_path = "/srv/orders", pid_path = "/srv/orders/run/migrate.pid", user = "app" }
    control        = { start_cmd = "./bin/migrate.sh" }
    monitor_policy = { auto_type = 2, op_timeout = 600 }
  }

  operation = "start"
  triggers  = { schema = "42" } # another value runs it again
  timeouts  = { create = "20m", update = "20m" }
}
