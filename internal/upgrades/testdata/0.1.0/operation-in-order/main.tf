terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

provider "bk" {
  gateway = "esb"
}

resource "bk_hosted_process" "web" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }

  spec = {
    identity       = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root" }
    control        = { start_cmd = "./nginx" }
    monitor_policy = { auto_type = 1 }
  }
}

resource "bk_hosted_process" "redis" {
  meta  = { namespace = "web", name = "redis" }
  hosts = bk_hosted_process.web.hosts
  spec  = bk_hosted_process.web.spec
}

resource "bk_process_operation" "start" {
  processes = {
    front = { process = bk_hosted_process.web.process, priority = 2 }
    back = {
      meta     = bk_hosted_process.redis.meta
      hosts    = bk_hosted_process.redis.hosts
      spec     = bk_hosted_process.redis.spec
      priority = 1
    }
  }
  operation = "start"
  order     = "ascending"
}
