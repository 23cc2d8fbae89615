data "bk_process_status" "web" {
  process = bk_hosted_process.web.process
}

output "not_running" {
  value = [for host, status in data.bk_process_status.web.statuses : host if status.state != "running"]
}
