# What the module asks of the provider. It needs no platform: terraform test
mock_provider "bk" {
  mock_resource "bk_hosted_process" {
    defaults = {
      id          = "web:nginx"
      out_of_sync = {}
    }
  }
  # A mock cannot fill a map of objects, so these runs check only the counts.
  mock_data "bk_process_status" {
    defaults = { running_count = 2 }
  }
}

variables {
  namespace   = "web"
  name        = "nginx"
  hosts       = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  binary      = "nginx"
  directory   = "/srv/web"
  commands    = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh" }
  config_hash = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
}

run "hosts_and_starts_it" {
  assert {
    condition     = bk_hosted_process.this.ensure == "running"
    error_message = "It is not started."
  }
  assert {
    condition     = bk_hosted_process.this.spec.identity.pid_path == "/srv/web/nginx.pid"
    error_message = "The pid file is ${bk_hosted_process.this.spec.identity.pid_path}."
  }
  assert {
    condition     = output.healthy
    error_message = "It does not count as healthy."
  }
}

run "releases_a_changed_command_in_waves_and_takes_a_bad_one_back" {
  assert {
    condition     = bk_hosted_process.this.on_update == "restart" && bk_hosted_process.this.on_destroy == "stop"
    error_message = "A changed command does not reach the process."
  }
  assert {
    condition     = bk_hosted_process.this.rollout.waves == tolist(["1", "25%"]) && bk_hosted_process.this.rollout.on_failure == "rollback" && bk_hosted_process.this.rollout.healthy.stable_for == "30s"
    error_message = "The rollout is ${jsonencode(bk_hosted_process.this.rollout)}."
  }
  assert {
    condition     = bk_hosted_process.this.timeouts.update == "30m" && bk_hosted_process.this.timeouts.read == null
    error_message = "Five waves do not fit."
  }
}

run "hands_on_all_that_it_is_given" {
  variables {
    commands = { start = "a", stop = "b", restart = "c", reload = "d", kill = "e", version = "f", health = "g" }
    limits   = { cpu = 1, mem = 2, fd = 3, disk = 4, net = 5 }
    monitor  = { start_check_secs = 1, stop_check_secs = 2, start_retries = 3, start_interval = 4, op_timeout = 5 }
    rollout = {
      batch_size = 2, canary = ["web-2"], pause = "1s", wave_timeout = "5m", max_failed_hosts = 1, on_failure = "stop"
      healthy    = { stable_for = "5s", within = "1m", output = "^ok" }
    }
    safety                = { max_removed_hosts = "10%", max_changed_hosts = 5, deletion_protection = true }
    timeouts              = { create = "1m", read = "2m", update = "3m", delete = "4m" }
    on_update             = "reload"
    on_destroy            = "kill"
    adopt_existing        = true
    forget_unreachable    = true
    max_unreachable_hosts = "5%"
    on_partial_create     = "error"
  }
  assert {
    condition     = join("", [for name in ["start", "stop", "restart", "reload", "kill", "version", "health"] : bk_hosted_process.this.spec.control["${name}_cmd"]]) == "abcdefg"
    error_message = "The commands are ${jsonencode(bk_hosted_process.this.spec.control)}."
  }
  assert {
    condition     = bk_hosted_process.this.spec.resource == { cpu = 1, mem = 2, fd = 3, disk = 4, net = 5 } && bk_hosted_process.this.spec.monitor_policy.start_retries == 3
    error_message = "The spec is ${jsonencode(bk_hosted_process.this.spec)}."
  }
  assert {
    condition = jsonencode(bk_hosted_process.this.rollout) == jsonencode({
      batch_size = 2, canary = ["web-2"], pause = "1s", wave_timeout = "5m", max_failed_hosts = "1", on_failure = "stop", waves = null
      healthy    = { stable_for = "5s", within = "1m", output = "^ok" }
    })
    error_message = "The rollout is ${jsonencode(bk_hosted_process.this.rollout)}."
  }
  assert {
    condition     = bk_hosted_process.this.safety == { max_removed_hosts = "10%", max_changed_hosts = "5", deletion_protection = true } && bk_hosted_process.this.timeouts == { create = "1m", read = "2m", update = "3m", delete = "4m" }
    error_message = "Safety and timeouts are ${jsonencode([bk_hosted_process.this.safety, bk_hosted_process.this.timeouts])}."
  }
  assert {
    condition     = bk_hosted_process.this.on_update == "reload" && bk_hosted_process.this.on_destroy == "kill" && bk_hosted_process.this.adopt_existing && bk_hosted_process.this.forget_unreachable && bk_hosted_process.this.on_partial_create == "error" && bk_hosted_process.this.max_unreachable_hosts == "5%"
    error_message = "It is looked after otherwise."
  }
}

run "takes_null_for_not_given" {
  variables {
    rollout  = { batch_size = null, healthy = null, on_failure = null, canary = ["web-2"] }
    timeouts = { update = null, delete = "1m" }
    monitor  = { auto_type = null, op_timeout = 5 }
  }
  assert {
    condition     = bk_hosted_process.this.spec.monitor_policy.auto_type == 1 && bk_hosted_process.this.spec.monitor_policy.op_timeout == 5
    error_message = "The monitoring is ${jsonencode(bk_hosted_process.this.spec.monitor_policy)}."
  }
  assert {
    condition = jsonencode(bk_hosted_process.this.rollout) == jsonencode({
      waves      = ["1", "25%"], canary = ["web-2"], on_failure = "rollback", healthy = { stable_for = "30s", within = "3m", output = null }
      batch_size = null, max_failed_hosts = null, pause = null, wave_timeout = null
    })
    error_message = "The rollout is ${jsonencode(bk_hosted_process.this.rollout)}."
  }
  assert {
    condition     = bk_hosted_process.this.timeouts.update == "30m" && bk_hosted_process.this.timeouts.delete == "1m"
    error_message = "The time limits are ${jsonencode(bk_hosted_process.this.timeouts)}."
  }
}

run "registers_only_where_that_is_written_down" {
  variables {
    ensure    = "hosted"
    on_update = "register"
  }
  assert {
    condition     = bk_hosted_process.this.on_update == "register" && bk_hosted_process.this.rollout.healthy == null
    error_message = "A changed command reaches the process."
  }
}

run "refuses_fields_that_it_does_not_have" {
  command = plan

  variables {
    commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh", realod = "./reload.sh" }
    limits   = { cpu = 1, mem = 1, memory = 1 }
    monitor  = { start_check = 1 }
    rollout  = { canary = ["web-1"], on_fail = "rollback" }
    safety   = { max_removed = 1 }
    timeouts = { change = "1m" }
  }
  expect_failures = [var.commands, var.limits, var.monitor, var.rollout, var.safety, var.timeouts]
}

run "refuses_a_gate_that_it_does_not_have" {
  command = plan

  variables {
    rollout = { healthy = { stable = "30s" } }
  }
  expect_failures = [var.rollout]
}

run "has_a_changed_hash_in_the_declaration" {
  variables {
    config_path = "/srv/web/nginx.conf"
    config_hash = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
  }
  assert {
    condition     = bk_hosted_process.this.spec.configmap == tolist([{ path = "/srv/web/nginx.conf", md5 = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" }])
    error_message = "The hash is not in the declaration."
  }
}

run "has_none_without_a_hash" {
  variables {
    config_hash = null
  }
  assert {
    condition     = bk_hosted_process.this.spec.configmap == null
    error_message = "There is a hash."
  }
}

run "refuses_another_hash" {
  command = plan

  variables {
    config_hash = "1.4"
  }
  expect_failures = [var.config_hash]
}

run "tells_when_it_is_down" {
  override_data {
    target = data.bk_process_status.this
    values = { running_count = 1 }
  }
  assert {
    condition     = !output.healthy
    error_message = "It counts as healthy."
  }
}

run "needs_a_host" {
  command = plan

  variables {
    hosts = {}
  }
  expect_failures = [var.hosts]
}
