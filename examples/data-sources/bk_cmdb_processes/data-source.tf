data "bk_cmdb_processes" "web" {
  bk_biz_id    = 3
  topology     = { set = "gz-[1-3]" }
  process_name = "nginx*"
}

# Each has the meta, hosts and spec of a bk_hosted_process. Lower priorities start first.
output "priorities" {
  value = { for name, process in data.bk_cmdb_processes.web.processes : name => process.priority }
}
