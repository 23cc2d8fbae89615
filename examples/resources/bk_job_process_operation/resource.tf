resource "bk_job_process_operation" "restart" {
  scope   = bk_job_hosted_process.web.scope
  hosts   = bk_job_hosted_process.web.hosts
  process = bk_job_hosted_process.web.process

  operation = "restart"
  triggers  = { config = sha256("worker_processes 4;") }
}
