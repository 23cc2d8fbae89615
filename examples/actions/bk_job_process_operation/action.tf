# Runs with: terraform apply -invoke=action.bk_job_process_operation.restart
action "bk_job_process_operation" "restart" {
  config {
    scope   = bk_job_hosted_process.web.scope
    hosts   = bk_job_hosted_process.web.hosts
    process = bk_job_hosted_process.web.process

    operation = "restart"
    rollout   = { batch_size = 10 }
  }
}
