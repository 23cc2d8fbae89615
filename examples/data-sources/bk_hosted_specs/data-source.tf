data "bk_hosted_specs" "web" {
  namespace = bk_hosted_process.web.meta.namespace
  hosts     = bk_hosted_process.web.hosts
}

# The command by which the agent really stops each process, by host and process.
output "stop_commands" {
  value = {
    for host, processes in data.bk_hosted_specs.web.specs :
    host => { for name, spec in processes : name => spec.control.stop_cmd }
  }
}

output "not_read" {
  value = data.bk_hosted_specs.web.unreadable
}
