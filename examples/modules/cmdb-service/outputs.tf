output "id" {
  description = "Namespace and name."
  value       = module.service.id
}

output "process" {
  description = "The process and its hosts in one value, for the `process` of operations and actions of your own."
  value       = module.service.process
  sensitive   = true
}

output "out_of_sync" {
  description = "Hosts that are not as declared, by host key: a code and the reason."
  value       = module.service.out_of_sync
}

output "unreachable" {
  description = "Keys of hosts whose agents do not answer, as far as `max_unreachable_hosts` allows such."
  value       = module.service.unreachable
}

output "not_running" {
  description = "State of the process by host key, where it does not run: stopped, unregistered or unknown."
  value       = module.service.not_running
}

output "healthy" {
  description = "Whether it runs on every host."
  value       = module.service.healthy
}

output "hosts" {
  description = "Hosts that were found in CMDB, as a map of host key to host address."
  value       = data.bk_hosts.this.hosts
}
