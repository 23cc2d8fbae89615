# Only these hosts, such as those that the previous run names as left: -var 'hosts={ "web-1" = "0:10.0.0.1" }'
variable "hosts" {
  type    = map(string)
  default = null # all hosts
}

action "bk_process_operation" "restart" {
  config {
    meta  = bk_hosted_process.web.meta
    hosts = var.hosts == null ? bk_hosted_process.web.hosts : var.hosts
    spec  = bk_hosted_process.web.spec

    operation = "restart"
    rollout   = { batch_size = 10, pause = "5s", max_failed_hosts = 1 }
    timeouts  = { invoke = "30m" }
  }
}

# Runs it whenever the configuration of nginx changes.
resource "terraform_data" "nginx_conf" {
  input = sha256("worker_processes 4;")

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.bk_process_operation.restart]
    }
  }
}
