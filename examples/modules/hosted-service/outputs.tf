output "id" {
  description = "Namespace and name."
  value       = bk_hosted_process.this.id
}

output "process" {
  description = "The process and its hosts in one value, for the `process` of operations and actions of your own."
  value       = bk_hosted_process.this.process
  sensitive   = true
}

output "out_of_sync" {
  description = "Hosts that are not as declared, by host key: a code and the reason."
  value       = bk_hosted_process.this.out_of_sync
}

output "unreachable" {
  description = "Keys of hosts whose agents do not answer, as far as `max_unreachable_hosts` allows such."
  value       = keys(bk_hosted_process.this.unreachable)
}

output "not_running" {
  description = "State of the process by host key, where it does not run: stopped, unregistered or unknown. One line of a plan, however many hosts there are."
  value       = { for host, status in data.bk_process_status.this.statuses : host => status.state if status.state != "running" }
}

output "healthy" {
  description = "Whether it runs on every host."
  value       = data.bk_process_status.this.running_count == length(var.hosts)
}
