data "bk_process_status" "web" {
  meta  = bk_hosted_process.web.meta
  hosts = bk_hosted_process.web.hosts
  spec  = bk_hosted_process.web.spec
}

output "not_running" {
  value = [for host, status in data.bk_process_status.web.statuses : host if status.state != "running"]
}
