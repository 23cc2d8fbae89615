# The database starts before the server, and stops after it: Terraform creates in
# the order of depends_on and destroys in the reverse order.
terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

locals {
  hosts = { game-1 = "0:10.0.0.1", game-2 = "0:10.0.0.2" }

  processes = {
    for name in ["db", "server"] : name => {
      identity       = { proc_name = name, setup_path = "/data/game/bin", pid_path = "/data/game/run/${name}.pid", user = "game" }
      control        = { start_cmd = "./${name}.sh start", stop_cmd = "./${name}.sh stop" }
      resource       = { cpu = 50, mem = 40 }
      monitor_policy = { auto_type = 1 }
    }
  }
}

resource "bk_hosted_process" "db" {
  meta       = { namespace = "game", name = "db" }
  hosts      = local.hosts
  spec       = local.processes.db
  ensure     = "running"
  on_destroy = "stop"
}

resource "bk_hosted_process" "server" {
  meta       = { namespace = "game", name = "server" }
  hosts      = local.hosts
  spec       = local.processes.server
  ensure     = "running"
  on_destroy = "stop"

  depends_on = [bk_hosted_process.db]
}
