data "bk_hosts" "web" {
  bk_biz_id = 3
  topology  = { env = "3", set = "gz-[1-3]", module = "nginx*" }
  filter    = { os_type = "linux" }
}

resource "bk_hosted_process" "agent" {
  meta  = { namespace = "web", name = "exporter" }
  hosts = data.bk_hosts.web.hosts

  spec = {
    identity = {
      proc_name  = "exporter"
      setup_path = "/srv/exporter"
      pid_path   = "/run/exporter.pid"
      user       = "root"
    }
    control        = { start_cmd = "./start.sh" }
    monitor_policy = { auto_type = 1 }
    resource       = { cpu = 10, mem = 10 }
  }
}
