data "bk_job_process_status" "web" {
  hosted_process = bk_job_hosted_process.web
}

output "running" {
  value = data.bk_job_process_status.web.running_count
}
