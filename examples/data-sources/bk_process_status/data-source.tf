data "bk_process_status" "web" {
  hosted_process = bk_hosted_process.web
}

output "web" { # all of it
  value = data.bk_process_status.web
}

output "not_running" {
  value = [for host, status in data.bk_process_status.web.statuses : host if status.state != "running"]
}
