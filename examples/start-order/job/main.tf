# The same order over JOB, for processes that hosting does not start: one operation starts
# the database before the server, and stops it after the server.
terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

locals {
  scope = { type = "biz", id = "2" }
  hosts = { game-1 = "0:10.0.0.1", game-2 = "0:10.0.0.2" }

  processes = {
    for name in ["db", "server"] : name => {
      proc_name  = name
      setup_path = "/data/game/bin"
      pid_path   = "/data/game/run/${name}.pid"
      account    = "game"
      start_cmd  = "./${name}.sh start"
      stop_cmd   = "./${name}.sh stop"
      type       = 1
    }
  }
}

resource "bk_job_hosted_process" "db" {
  scope   = local.scope
  hosts   = local.hosts
  process = local.processes.db
}

resource "bk_job_hosted_process" "server" {
  scope   = local.scope
  hosts   = local.hosts
  process = local.processes.server
}

resource "bk_job_process_operation" "start" {
  processes = {
    db     = { declaration = bk_job_hosted_process.db.declaration, priority = 1 }
    server = { declaration = bk_job_hosted_process.server.declaration, priority = 2 }
  }

  operation  = "start"
  on_destroy = "stop"
}
