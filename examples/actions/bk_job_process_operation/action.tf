# Only these hosts, such as those that the previous run names as left: -var 'hosts={ "web-1" = "0:10.0.0.1" }'
variable "hosts" {
  type    = map(string)
  default = null # all hosts
}

# Runs with: terraform apply -invoke=action.bk_job_process_operation.restart
action "bk_job_process_operation" "restart" {
  config {
    scope   = bk_job_hosted_process.web.scope
    process = bk_job_hosted_process.web.process
    hosts   = var.hosts == null ? bk_job_hosted_process.web.hosts : var.hosts

    operation = "restart"
    rollout   = { batch_size = 10 }
  }
}
