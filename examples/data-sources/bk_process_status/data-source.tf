data "bk_process_status" "web" {
  hosted_process = bk_hosted_process.web
}

# A plan shows an exception or a count in one line. With all statuses, it shows one line per host whenever something changes.
output "not_running" {
  value = { for host, status in data.bk_process_status.web.statuses : host => status.state if status.state != "running" }
}

output "running" {
  value = "${data.bk_process_status.web.running_count} of ${length(data.bk_process_status.web.statuses)}"
}
