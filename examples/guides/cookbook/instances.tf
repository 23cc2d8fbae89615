resource "bk_hosted_process" "worker" {
  for_each = toset(["1", "2", "3"])

  meta  = { namespace = "shop", name = "worker_${each.key}" }
  hosts = { app-1 = "0:10.0.0.1", app-2 = "0:10.0.0.2" }

  spec = {
    identity = {
      proc_name  = "worker"
      setup_path = "/srv/worker"
      pid_path   = "/srv/worker/run/worker_${each.key}.pid" # one for each instance
      user       = "app"
    }
    control = {
      start_cmd = "./start.sh ${each.key}"
      stop_cmd  = "./stop.sh ${each.key}"
    }
    monitor_policy = { auto_type = 1 }
  }

  ensure = "running"
}
