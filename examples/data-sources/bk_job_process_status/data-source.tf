data "bk_job_process_status" "web" {
  scope   = bk_job_hosted_process.web.scope
  hosts   = bk_job_hosted_process.web.hosts
  process = bk_job_hosted_process.web.process
}

output "running" {
  value = data.bk_job_process_status.web.running_count
}
