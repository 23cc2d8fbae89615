# The business "shop", which GSEKit runs today. run.sh is the whole demo.

terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# Endpoint and credentials come from the environment: BK_ENDPOINT, BK_APP_CODE, ...
provider "bk" {}

# What runs there, as GSEKit runs it.
data "bk_cmdb_processes" "shop" {
  bk_biz_id = 3
  topology  = { set = "*" }
}

# An empty module must not remove its processes.
data "bk_hosts" "module" {
  for_each = toset(["web", "gateway", "worker"])

  bk_biz_id = 3
  topology  = { module = each.value }
  min_hosts = 1
}

resource "bk_hosted_process" "shop" {
  for_each = data.bk_cmdb_processes.shop.processes

  meta           = each.value.meta
  hosts          = each.value.hosts
  spec           = each.value.spec
  adopt_existing = true

  # A wrong scope must not remove them either.
  safety = { max_removed_hosts = "10%", deletion_protection = true }

  depends_on = [data.bk_hosts.module]
}
