# What the module asks of CMDB. It needs no platform: terraform test
mock_provider "bk" {
  mock_data "bk_hosts" {
    defaults = { hosts = { "10.0.0.1" = "0:10.0.0.1", "10.0.0.2" = "0:10.0.0.2" } }
  }
  mock_resource "bk_hosted_process" {
    defaults = {
      id          = "BIZ_3:nginx"
      out_of_sync = {}
    }
  }
  # A mock cannot fill a map of objects, so these runs check only the counts.
  mock_data "bk_process_status" {
    defaults = { running_count = 2 }
  }
}

variables {
  bk_biz_id = 3
  topology  = { set = "gz-*", module = "nginx" }
  name      = "nginx"
  directory = "/usr/sbin"
  commands  = { start = "./nginx", stop = "./nginx -s quit", restart = "./nginx -s stop; ./nginx" }
}

run "runs_on_the_hosts_of_the_module" {
  assert {
    condition     = data.bk_hosts.this.topology.set == "gz-*" && data.bk_hosts.this.topology.module == "nginx" && data.bk_hosts.this.min_hosts == 1
    error_message = "The topology is ${jsonencode(data.bk_hosts.this.topology)}."
  }
  assert {
    condition     = output.healthy && length(output.hosts) == 2 && output.id == "BIZ_3:nginx"
    error_message = "It runs on ${jsonencode(output.hosts)}."
  }
}

run "asks_for_what_it_is_told" {
  variables {
    topology      = null
    dynamic_group = "web"
    filter        = { os_type = "linux" }
    address       = "ip"
    key           = "{bk_host_name}"
    min_hosts     = 2
  }
  assert {
    condition     = data.bk_hosts.this.dynamic_group == "web" && data.bk_hosts.this.filter.os_type == "linux" && data.bk_hosts.this.address == "ip" && data.bk_hosts.this.key == "{bk_host_name}" && data.bk_hosts.this.min_hosts == 2
    error_message = "Other hosts are asked for."
  }
}

run "refuses_fields_that_it_does_not_have" {
  command = plan

  variables {
    topology = { sets = "gz-*" }
    filter   = { os = "linux" }
    commands = { start = "./nginx", realod = "./nginx -s reload" }
    limits   = { memory = 1 }
    monitor  = { start_check = 1 }
    rollout  = { on_fail = "rollback" }
    safety   = { max_removed = 1 }
    timeouts = { change = "1m" }
  }
  expect_failures = [var.topology, var.filter, var.commands, var.limits, var.monitor, var.rollout, var.safety, var.timeouts]
}
