data "bk_job_process_status" "web" {
  declaration = bk_job_hosted_process.web.declaration
}

output "running" {
  value = data.bk_job_process_status.web.running_count
}
