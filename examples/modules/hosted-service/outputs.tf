output "id" {
  description = "Namespace and name."
  value       = bk_hosted_process.this.id
}

output "status" {
  description = "State of the process by host key: running, stopped, unregistered or unknown."
  value       = { for host, status in data.bk_process_status.this.statuses : host => status.state }
}

output "healthy" {
  description = "Whether it runs on every host."
  value       = data.bk_process_status.this.running_count == length(var.hosts)
}
