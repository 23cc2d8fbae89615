resource "bk_job_process_operation" "restart" {
  declaration = bk_job_hosted_process.web.declaration

  operation = "restart"
  triggers  = { config = sha256("worker_processes 4;") }
}
