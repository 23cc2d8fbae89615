output "processes" {
  description = "By name, each process with its hosts in one value and its priority, for the `processes` of operations and actions of your own."
  value       = local.processes
  sensitive   = true
}

output "out_of_sync" {
  description = "Hosts that are not as declared, by name: only those of processes that have any."
  value       = { for name, process in bk_hosted_process.this : name => process.out_of_sync if length(process.out_of_sync) > 0 }
}

output "unreachable" {
  description = "Keys of hosts whose agents do not answer, as far as `max_unreachable_hosts` allows such, by name: only those of processes that have any."
  value       = { for name, process in bk_hosted_process.this : name => keys(process.unreachable) if length(process.unreachable) > 0 }
}

output "not_running" {
  description = "State of each process by its name and host key, where it does not run: stopped, unregistered or unknown."
  value       = { for name, read in data.bk_process_status.this : name => { for host, status in read.statuses : host => status.state if status.state != "running" } }
}

output "healthy" {
  description = "Whether all of them run on every host."
  value       = alltrue([for name, read in data.bk_process_status.this : read.running_count == length(bk_hosted_process.this[name].hosts)])
}
