# Restarts nginx, ten hosts at a time, whenever its configuration changes.
resource "bk_process_operation" "restart" {
  process = bk_hosted_process.web.process

  operation = "restart"
  triggers  = { config = sha256("worker_processes 4;") }

  rollout = {
    batch_size       = 10
    pause            = "5s"
    max_failed_hosts = 1
  }
}
