locals {
  hosts  = { for n in range(1000) : format("host-%05d", n) => "0:10.20.${floor(n / 250)}.${n % 250 + 1}" }
  shards = 4

  # The hash of its key decides to which shard a host belongs. So a host that comes or goes
  # moves no other host, as it would if shards were cut by position.
  shard = { for key in keys(local.hosts) : key => parseint(substr(sha256(key), 0, 8), 16) % local.shards }
}

resource "bk_hosted_process" "collector" {
  for_each = toset([for n in range(local.shards) : tostring(n)])

  meta  = { namespace = "logs", name = "collector" }
  hosts = { for key, address in local.hosts : key => address if local.shard[key] == tonumber(each.key) }

  spec = {
    identity       = { proc_name = "collector", setup_path = "/opt/collector", pid_path = "/run/collector.pid", user = "root" }
    control        = { start_cmd = "./start.sh", stop_cmd = "./stop.sh" }
    resource       = { cpu = 10, mem = 5 }
    monitor_policy = { auto_type = 1 }
  }
}
