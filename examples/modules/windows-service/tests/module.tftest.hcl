# What the module asks of the provider. It needs no platform: terraform test
mock_provider "bk" {
  mock_resource "bk_hosted_process" {
    defaults = {
      id          = "lobby:GameServer"
      out_of_sync = {}
    }
  }
  # A mock cannot fill a map of objects, so these runs check only the counts.
  mock_data "bk_process_status" {
    defaults = { running_count = 1 }
  }
}

variables {
  namespace = "lobby"
  name      = "GameServer"
  hosts     = { win-1 = "0:10.0.0.1" }
  binary    = "game.exe"
  directory = "D:\\game"
}

run "writes_the_pid_of_the_service_where_the_agent_looks" {
  assert {
    condition     = local.commands.start == "powershell -NoProfile -NonInteractive -Command \"$ErrorActionPreference = 'Stop'; Start-Service 'GameServer'; (Get-CimInstance Win32_Service | Where-Object Name -EQ 'GameServer').ProcessId | Set-Content -Encoding ascii 'D:\\game\\GameServer.pid'\""
    error_message = "It is started by ${local.commands.start}."
  }
  assert {
    condition     = local.pid_path == "D:\\game\\GameServer.pid" && output.healthy && output.id == "lobby:GameServer"
    error_message = "The PID is in ${local.pid_path}."
  }
}

run "takes_null_for_not_given" {
  command = plan

  variables {
    commands = { start = null, stop = "stop.cmd" }
  }
  assert {
    condition     = strcontains(local.commands.start, "Start-Service") && local.commands.stop == "stop.cmd"
    error_message = "The commands are ${jsonencode(local.commands)}."
  }
}

run "refuses_fields_that_it_does_not_have" {
  command = plan

  variables {
    rollout  = { on_fail = "rollback" }
    safety   = { max_removed = 1 }
    timeouts = { change = "1m" }
  }
  expect_failures = [var.rollout, var.safety, var.timeouts]
}

run "refuses_quotes" {
  command = plan

  variables {
    service   = "Game'Server"
    directory = "D:\\game\\"
    pid_path  = "D:\\\"game\".pid"
  }
  expect_failures = [var.service, var.directory, var.pid_path]
}
