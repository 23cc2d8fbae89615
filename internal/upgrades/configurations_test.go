package upgrades_test

import "strings"

// configurations are those for which the next release writes states: each resource with its required attributes, and with all
// of them. They are kept with the states, so that a later release is also tested with the earlier configurations.
var configurations = map[string]string{
	"hosted-minimal": onESB + minimalHosted,
	"hosted-whole":   withDefaults + wholeHosted,
	// The label is turned off, so only state has the owner of the registrations.
	"hosted-without-fingerprint": onESBWith(`spec_fingerprint_label = ""`) + minimalHosted,
	"hosted-through-apigw":       strings.Replace(withDefaults, "esb", "apigw", 1) + wholeHosted,
	"operation-minimal":          onESB + minimalHosted + minimalOperation,
	"operation-whole":            withDefaults + wholeHosted + wholeOperation,
	"operation-in-order":         onESB + minimalHosted + orderedOperation,
	"job-minimal":                onESB + minimalJob + minimalJobOperation,
	"job-whole":                  onESB + wholeJob,
	"job-in-order":               onESB + minimalJob + orderedJob,
}

const onESB = `terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {
  gateway = "esb"
}
`

var withDefaults = onESBWith(`default_labels         = { team = "sre", tier = "front" }
  spec_fingerprint_label = "spec"`)

func onESBWith(settings string) string {
	return strings.Replace(onESB, "\"esb\"\n", "\"esb\"\n  "+settings+"\n", 1)
}

const minimalHosted = `
resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  spec = {
    identity       = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx" }
    monitor_policy = { auto_type = 1 }
  }
}
`

const wholeHosted = `
resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx", labels = { team = "ops" } }
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:0:10.0.0.2", web-3 = "0:10.0.0.3" }
  spec = {
    identity = {
      proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root"
      config_path = "/srv/web/nginx.conf", log_path = "/srv/web/logs"
    }
    control = {
      start_cmd = "./nginx", stop_cmd = "./nginx -s quit", restart_cmd = "./nginx -s stop; ./nginx", reload_cmd = "./nginx -s reload"
      kill_cmd = "kill -9 $(cat /run/nginx.pid)", version_cmd = "./nginx -v", health_cmd = "./health.sh"
    }
    resource       = { cpu = 30.5, mem = 10 }
    monitor_policy = { auto_type = 1, start_check_secs = 6, stop_check_secs = 7, start_retries = 8, start_interval = 9, op_timeout = 61 }
  }
  ensure             = "running"
  adopt_existing     = true
  on_update          = "restart"
  on_destroy         = "stop"
  on_partial_create  = "error"
  forget_unreachable = true
  rollout = {
    waves = ["1", "50%", "*2"], canary = ["web-3"], pause = "1ms", wave_timeout = "1m", max_failed_hosts = "10%"
    on_failure = "rollback", healthy = { stable_for = "1s", within = "1m" }
  }
  safety   = { max_removed_hosts = "100%", max_changed_hosts = 3, deletion_protection = false }
  timeouts = { create = "5m", read = "1m", update = "5m", delete = "5m" }
}
`

const minimalOperation = `
resource "bk_process_operation" "start" {
  process   = bk_hosted_process.web.process
  operation = "start"
}
`

const wholeOperation = `
resource "bk_process_operation" "restart" {
  meta  = bk_hosted_process.web.meta
  hosts = bk_hosted_process.web.hosts
  spec  = bk_hosted_process.web.spec

  operation         = "restart"
  triggers          = { spec = bk_hosted_process.web.fingerprint, run = "1" }
  run_on_create     = false
  on_destroy        = "stop"
  on_partial_create = "error"
  rollout           = { batch_size = 2, pause = "1ms", max_failed_hosts = 1, healthy = { stable_for = "1s", within = "1m" } }
  timeouts          = { create = "5m", update = "5m", delete = "5m" }
}
`

const orderedOperation = `
resource "bk_hosted_process" "redis" {
  meta  = { namespace = "web", name = "redis" }
  hosts = bk_hosted_process.web.hosts
  spec  = bk_hosted_process.web.spec
}

resource "bk_process_operation" "start" {
  processes = {
    front = { process = bk_hosted_process.web.process, priority = 2 }
    back  = { meta = bk_hosted_process.redis.meta, hosts = bk_hosted_process.redis.hosts, spec = bk_hosted_process.redis.spec, priority = 1 }
  }
  operation = "start"
  order     = "ascending"
}
`

const minimalJob = `
resource "bk_job_hosted_process" "web" {
  scope   = { type = "biz", id = "2" }
  hosts   = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  process = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", start_cmd = "./nginx", type = 1 }
}
`

const minimalJobOperation = `
resource "bk_job_process_operation" "web" {
  declaration = bk_job_hosted_process.web.declaration
  operation   = "start"
}
`

const wholeJob = `
resource "bk_job_hosted_process" "web" {
  bk_biz_id = 2
  hosts     = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  process = {
    proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", type = 1, cpu_lmt = 30, mem_lmt = 10
    start_cmd = "./nginx", stop_cmd = "./nginx -s quit", restart_cmd = "./restart.sh"
  }
  ensure             = "running"
  adopt_existing     = true
  on_update          = "restart"
  on_destroy         = "stop"
  on_partial_create  = "error"
  forget_unreachable = true
  registration_api   = "operate_process"
  safety             = { max_removed_hosts = 2 }
  rollout            = { batch_size = 1 }
  timeouts           = { create = "5m", read = "1m", update = "5m", delete = "5m" }
}

resource "bk_job_process_operation" "restart" {
  bk_biz_id = bk_job_hosted_process.web.bk_biz_id
  hosts     = bk_job_hosted_process.web.hosts
  process   = bk_job_hosted_process.web.process
  operation = "restart"
  triggers  = { run = "1" }
  rollout   = { waves = ["1", "100%"] }
}
`

const orderedJob = `
resource "bk_job_hosted_process" "redis" {
  bk_biz_id = 2
  hosts     = { web-1 = "0:10.0.0.1" }
  process   = { proc_name = "redis", setup_path = "/srv/redis", pid_path = "/run/redis.pid", start_cmd = "./redis", type = 1 }
}

resource "bk_job_process_operation" "start" {
  processes = {
    front = { declaration = bk_job_hosted_process.web.declaration, priority = 2 }
    back = {
      bk_biz_id = bk_job_hosted_process.redis.bk_biz_id, hosts = bk_job_hosted_process.redis.hosts
      process = bk_job_hosted_process.redis.process, priority = 1
    }
  }
  operation = "start"
  order     = "ascending"
}
`
