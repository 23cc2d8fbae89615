# Runs with: terraform apply -invoke=action.bk_job_process_operation.restart
action "bk_job_process_operation" "restart" {
  config {
    declaration = bk_job_hosted_process.web.declaration

    operation = "restart"
    rollout   = { batch_size = 10 }
  }
}
