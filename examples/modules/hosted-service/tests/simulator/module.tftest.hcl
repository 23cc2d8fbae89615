# The same against a platform, by default the simulator:
#   make simulator SIMFLAGS="-admit 10.0.0.0/8"
# and in another terminal, after the line with the exports that it prints:
#   terraform test -test-directory=tests/simulator
provider "bk" {}

variables {
  namespace   = "web"
  name        = "nginx"
  hosts       = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  binary      = "nginx"
  directory   = "/srv/web"
  commands    = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh" }
  config_hash = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
  rollout     = { healthy = { stable_for = "1s" } }
}

run "hosts_and_starts_it" {
  assert {
    condition     = output.id == "web:nginx"
    error_message = "The id is ${output.id}."
  }
  assert {
    condition     = length(output.not_running) == 0 && output.healthy
    error_message = "It does not run: ${jsonencode(output.not_running)}."
  }
}

run "restarts_when_the_hash_changes" {
  variables {
    config_hash = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  }
  assert {
    condition     = strcontains(bk_hosted_process.this.rollout_plan, "restart what runs on 2 hosts") && output.healthy
    error_message = "It is not restarted: ${bk_hosted_process.this.rollout_plan}"
  }
}

run "changes_nothing_without_a_reason" {
  command = plan

  variables {
    config_hash = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  }
  # The result of an update would not be known yet, and the assertion would fail.
  assert {
    condition     = length(bk_hosted_process.this.out_of_sync) == 0
    error_message = "It is out of sync, or updated."
  }
}

run "restarts_when_a_command_changes" {
  variables {
    config_hash = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
    commands    = { start = "./start.sh 2", stop = "./stop.sh", restart = "./restart.sh 2" }
  }
  assert {
    condition     = output.healthy && length(output.out_of_sync) == 0
    error_message = "It does not run: ${jsonencode(output.not_running)}."
  }
}

run "restarts_once_when_both_change" {
  variables {
    config_hash = "cccccccccccccccccccccccccccccccc"
    commands    = { start = "./start.sh 3", stop = "./stop.sh", restart = "./restart.sh 3" }
  }
  assert {
    condition     = output.healthy && length(output.out_of_sync) == 0
    error_message = "It does not run: ${jsonencode(output.not_running)}."
  }
}

run "takes_one_more_host" {
  variables {
    config_hash = "cccccccccccccccccccccccccccccccc"
    commands    = { start = "./start.sh 3", stop = "./stop.sh", restart = "./restart.sh 3" }
    hosts       = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2", web-3 = "0:10.0.0.3" }
  }
  assert {
    condition     = length(output.not_running) == 0 && output.healthy
    error_message = "It does not run: ${jsonencode(output.not_running)}."
  }
}
