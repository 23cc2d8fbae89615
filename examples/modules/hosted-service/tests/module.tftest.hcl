# What the module asks of the provider. It needs no platform: terraform test
mock_provider "bk" {
  mock_resource "bk_hosted_process" {
    defaults = {
      id          = "web:nginx"
      out_of_sync = {}
    }
  }
  mock_resource "bk_process_operation" {
    defaults = {
      failed_hosts = {}
    }
  }
  # A mock cannot fill a map of objects, so these runs go by the counts alone.
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
  config_hash = "a"
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

run "restarts_when_the_hash_changes" {
  variables {
    config_hash = "b"
    rollout     = { batch_size = 1 }
  }
  assert {
    condition     = bk_process_operation.restart[0].operation == "restart" && bk_process_operation.restart[0].triggers.config == "b"
    error_message = "The restart does not hang on the hash."
  }
  assert {
    condition     = bk_process_operation.restart[0].rollout.batch_size == 1
    error_message = "The restart is not rolled out in waves."
  }
}

run "never_restarts_without_a_hash" {
  variables {
    config_hash = null
  }
  assert {
    condition     = length(bk_process_operation.restart) == 0
    error_message = "There is a restart."
  }
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
