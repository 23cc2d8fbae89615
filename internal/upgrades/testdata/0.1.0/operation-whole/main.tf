terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {
  gateway = "esb"
  default_labels         = { team = "sre", tier = "front" }
  spec_fingerprint_label = "spec"
}

resource "bk_hosted_process" "web" {
  meta = {
    namespace = "web"
    name      = "nginx"
    labels    = { team = "ops" }
  }
  hosts = {
    web-1 = "0:10.0.0.1"
    web-2 = "0:0:10.0.0.2"
    web-3 = "0:10.0.0.3"
  }

  spec = {
    identity = {
      proc_name   = "nginx"
      setup_path  = "/srv/web"
      pid_path    = "/run/nginx.pid"
      user        = "root"
      config_path = "/srv/web/nginx.conf"
      log_path    = "/srv/web/logs"
    }
    control = {
      start_cmd   = "./nginx"
      stop_cmd    = "./nginx -s quit"
      restart_cmd = "./nginx -s stop; ./nginx"
      reload_cmd  = "./nginx -s reload"
      kill_cmd    = "kill -9 $(cat /run/nginx.pid)"
      version_cmd = "./nginx -v"
      health_cmd  = "./health.sh"
    }
    resource = { cpu = 30.5, mem = 10 }
    monitor_policy = {
      auto_type        = 1
      start_check_secs = 6
      stop_check_secs  = 7
      start_retries    = 8
      start_interval   = 9
      op_timeout       = 61
    }
  }

  ensure             = "running"
  adopt_existing     = true
  on_update          = "restart"
  on_destroy         = "stop"
  on_partial_create  = "error"
  forget_unreachable = true

  rollout = {
    waves            = ["1", "50%", "*2"]
    canary           = ["web-3"]
    pause            = "1ms"
    wave_timeout     = "1m"
    max_failed_hosts = "10%"
    on_failure       = "rollback"
    healthy          = { stable_for = "1s", within = "1m" }
  }
  safety   = { max_removed_hosts = "100%", max_changed_hosts = 3, deletion_protection = false }
  timeouts = { create = "5m", read = "1m", update = "5m", delete = "5m" }
}

resource "bk_process_operation" "restart" {
  meta  = bk_hosted_process.web.meta
  hosts = bk_hosted_process.web.hosts
  spec  = bk_hosted_process.web.spec

  operation         = "restart"
  triggers          = { spec = bk_hosted_process.web.fingerprint, run = "1" }
  run_on_create     = false
  on_destroy        = "stop"
  on_partial_create = "error"

  rollout  = { batch_size = 2, pause = "1ms", max_failed_hosts = 1, healthy = { stable_for = "1s", within = "1m" } }
  timeouts = { create = "5m", update = "5m", delete = "5m" }
}
