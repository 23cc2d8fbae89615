action "bk_process_operation" "restart" {
  config {
    process = bk_hosted_process.web.process

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
