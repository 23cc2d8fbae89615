output "processes" {
  description = "What was read from CMDB, for the for_each of operations and statuses: meta, hosts, spec and priority by key."
  value       = data.bk_cmdb_processes.this.processes

  # Only registered processes can be operated.
  depends_on = [bk_hosted_process.this]
}

output "fingerprints" {
  description = "Fingerprint by key, for the triggers of operations."
  value       = { for key, process in bk_hosted_process.this : key => process.fingerprint }
}

output "out_of_sync" {
  description = "Hosts that are not as declared, by key: only those of processes that have any."
  value       = { for key, process in bk_hosted_process.this : key => process.out_of_sync if length(process.out_of_sync) > 0 }
}

output "unreachable" {
  description = "Keys of hosts whose agents do not answer, as far as `max_unreachable_hosts` allows such, by key: only those of processes that have any."
  value       = { for key, process in bk_hosted_process.this : key => keys(process.unreachable) if length(process.unreachable) > 0 }
}

output "start_order" {
  description = "Keys by priority, in the order in which GSEKit and operation start, reload and kill them; stop and restart go the other way."
  value = [
    for priority in sort([for n in distinct([for process in data.bk_cmdb_processes.this.processes : process.priority]) : format("%010d", n)]) : {
      priority  = tonumber(priority)
      processes = sort([for key, process in data.bk_cmdb_processes.this.processes : key if process.priority == tonumber(priority)])
    }
  ]
}
