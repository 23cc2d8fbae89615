# What the module asks of CMDB, and what it refuses. It needs no platform: terraform test
#
# A mock cannot fill a map of objects, so CMDB has no processes in these runs. Only a
# platform or the simulator can show what happens to processes.
mock_provider "bk" {}

variables {
  bk_biz_id = 3
}

run "asks_for_all_unless_told" {
  assert {
    condition     = data.bk_cmdb_processes.this.bk_biz_id == 3 && data.bk_cmdb_processes.this.topology.module == null && data.bk_cmdb_processes.this.process_name == null
    error_message = "Not all processes are asked for."
  }
  assert {
    condition     = data.bk_cmdb_processes.this.min_hosts == 1 && length(data.bk_hosts.module) == 0
    error_message = "A business without hosts is taken for one."
  }
  assert {
    condition     = length(bk_hosted_process.this) == 0 && output.out_of_sync == {} && output.start_order == []
    error_message = "Something comes of nothing."
  }
}

run "asks_for_what_it_is_told" {
  variables {
    topology     = { env = "3", set = "gz-[1-3]", module = "[web, worker]" }
    process_name = "[gateway, worker]"
    inst_ids     = { "45" = 7 }
    group_by     = "set"
    address      = "ip"
    key          = "{bk_host_name}"
    min_hosts    = 4
  }
  assert {
    condition     = data.bk_cmdb_processes.this.topology == { env = "3", set = "gz-[1-3]", module = "[web, worker]" }
    error_message = "The topology is ${jsonencode(data.bk_cmdb_processes.this.topology)}."
  }
  assert {
    condition     = data.bk_cmdb_processes.this.process_name == "[gateway, worker]" && data.bk_cmdb_processes.this.inst_ids["45"] == 7 && data.bk_cmdb_processes.this.group_by == "set"
    error_message = "Other processes are asked for."
  }
  assert {
    condition     = data.bk_cmdb_processes.this.address == "ip" && data.bk_cmdb_processes.this.key == "{bk_host_name}" && data.bk_cmdb_processes.this.min_hosts == 4
    error_message = "Hosts are called otherwise."
  }
}

run "counts_the_hosts_of_each_module_that_is_named" {
  variables {
    topology            = { set = "gz-*", module = "w*" }
    min_hosts_by_module = { web = 2, worker = 1 }
  }
  assert {
    condition     = { for module, read in data.bk_hosts.module : module => read.min_hosts } == { web = 2, worker = 1 }
    error_message = "These are counted: ${join(", ", keys(data.bk_hosts.module))}."
  }
  assert {
    condition     = data.bk_hosts.module["web"].topology.set == "gz-*" && data.bk_hosts.module["web"].topology.module == "web" && data.bk_hosts.module["web"].bk_biz_id == 3
    error_message = "They are counted in ${jsonencode(data.bk_hosts.module["web"].topology)}."
  }
}

run "does_no_less_than_hosting" {
  command = plan

  variables {
    ensure = "registered"
  }
  expect_failures = [var.ensure]
}

run "refuses_fields_that_it_does_not_have" {
  command = plan

  variables {
    topology = { sets = "gz-*" }
    rollout  = { on_fail = "rollback" }
    safety   = { max_removed = 1 }
    timeouts = { change = "1m" }
  }
  expect_failures = [var.topology, var.rollout, var.safety, var.timeouts]
}
