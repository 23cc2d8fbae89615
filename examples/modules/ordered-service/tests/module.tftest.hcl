# What the module asks of the provider. It needs no platform: terraform test
mock_provider "bk" {
  mock_resource "bk_hosted_process" {
    defaults = { out_of_sync = {} }
  }
  mock_resource "bk_process_operation" {
    defaults = { failed_hosts = {} }
  }
  # A mock cannot fill a map of objects, so these runs check only the counts.
  mock_data "bk_process_status" {
    defaults = { running_count = 2 }
  }
}

variables {
  namespace = "lobby"
  hosts     = { game-1 = "0:10.0.0.1", game-2 = "0:10.0.0.2" }
  processes = {
    db   = { directory = "/data/db", commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh" }, priority = 1, binary = "mysqld", limits = { cpu = 50, mem = 50 } }
    game = { directory = "/data/game", commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh", health = "./ok.sh" }, priority = 2, monitor = { op_timeout = 5 } }
    web  = { directory = "/data/web", commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh" }, hosts = { web-1 = "0:10.0.1.1", web-2 = "0:10.0.1.2" } }
  }
}

run "starts_them_in_order_and_restarts_the_one_that_changes" {
  assert {
    condition     = bk_process_operation.start.operation == "start" && bk_process_operation.start.run_on_create != false && { for name, process in bk_process_operation.start.processes : name => process.priority } == { db = 1, game = 2, web = 0 }
    error_message = "They are not started in order."
  }
  assert {
    condition     = bk_process_operation.this.operation == "restart" && !bk_process_operation.this.run_on_create
    error_message = "What was just started is restarted."
  }
  assert {
    condition     = alltrue([for process in bk_hosted_process.this : process.on_update == "restart" && process.ensure == "hosted" && process.rollout.on_failure == "rollback" && process.rollout.healthy.stable_for == "30s"])
    error_message = "A changed command does not reach its process, in waves."
  }
  assert {
    condition     = keys(bk_hosted_process.this["web"].hosts) == tolist(["web-1", "web-2"]) && keys(bk_hosted_process.this["db"].hosts) == tolist(["game-1", "game-2"])
    error_message = "The hosts are not those of each."
  }
  assert {
    condition     = bk_hosted_process.this["db"].spec.identity.pid_path == "/data/db/mysqld.pid" && bk_hosted_process.this["db"].spec.resource.cpu == 50 && bk_hosted_process.this["game"].spec.monitor_policy.op_timeout == 5 && bk_hosted_process.this["game"].spec.control.health_cmd == "./ok.sh"
    error_message = "The processes are ${jsonencode({ for name, process in bk_hosted_process.this : name => process.spec })}."
  }
  assert {
    condition     = output.healthy && length(output.out_of_sync) == 0
    error_message = "It does not count as healthy."
  }
}

# An object type with optional fields has null for each field that is not given.
run "takes_null_for_not_given" {
  command = plan

  variables {
    processes = {
      db = {
        directory = "/data/db", commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh", kill = null }, priority = null, hosts = null
        binary    = null, pid_path = null, user = null, config_path = null, log_path = null, limits = null, monitor = { auto_type = null, op_timeout = 5 }
      }
      game = { directory = "/data/game", commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh" }, monitor = null }
    }
  }
  assert {
    condition     = bk_hosted_process.this["db"].hosts == tomap(var.hosts) && bk_process_operation.start.processes["db"].priority == 0
    error_message = "The hosts or the priority are not those of the module."
  }
  assert {
    condition     = bk_hosted_process.this["db"].spec.identity.proc_name == "db" && bk_hosted_process.this["db"].spec.identity.pid_path == "/data/db/db.pid" && bk_hosted_process.this["db"].spec.identity.user == "root"
    error_message = "The process is ${jsonencode(bk_hosted_process.this["db"].spec)}."
  }
  assert {
    condition     = bk_hosted_process.this["db"].spec.monitor_policy.auto_type == 1 && bk_hosted_process.this["db"].spec.monitor_policy.op_timeout == 5 && bk_hosted_process.this["game"].spec.monitor_policy.auto_type == 1
    error_message = "The monitoring is not the default."
  }
}

run "stops_them_without_a_gate" {
  variables {
    operation = "stop"
    order     = "ascending"
    triggers  = { at = "night" }
    rollout   = { batch_size = 1 }
    safety    = { deletion_protection = true }
  }
  assert {
    condition     = bk_process_operation.this.operation == "stop" && bk_process_operation.this.order == "ascending" && bk_process_operation.this.rollout.healthy == null && bk_process_operation.this.rollout.batch_size == 1
    error_message = "They are not stopped."
  }
  assert {
    condition     = bk_hosted_process.this["db"].rollout.healthy.stable_for == "30s" && bk_hosted_process.this["db"].safety.deletion_protection
    error_message = "Settings get lost."
  }
}

run "refuses_fields_that_it_does_not_have" {
  command = plan

  variables {
    processes = { db = { directory = "/data/db", commands = { start = "a", stop = "b", restart = "c" }, prio = 1 } }
    rollout   = { on_fail = "rollback" }
    safety    = { max_removed = 1 }
    timeouts  = { change = "1m" }
  }
  expect_failures = [var.processes, var.rollout, var.safety, var.timeouts]
}

run "refuses_commands_that_it_does_not_have" {
  command = plan

  variables {
    processes = { db = { directory = "/data/db", commands = { start = "a", stop = "b", restart = "c", realod = "d" } } }
  }
  expect_failures = [var.processes]
}
