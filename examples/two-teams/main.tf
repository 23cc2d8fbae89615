# Two business teams run the same kind of service on hosts of their own. Each fills in what
# differs, and the module knows the rest.

terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# Endpoint and credentials come from the environment: BK_ENDPOINT, BK_APP_CODE, ...
provider "bk" {
  default_labels = { managed_by = "terraform" }
}

locals {
  teams = {
    lobby = { ips = "10.0.0.[1-3]", config = "players = 100", cpu = 20 }
    arena = { ips = "10.0.1.[1,4-5]", config = "players = 20", cpu = 60 }
  }
}

module "server" {
  source   = "../modules/hosted-service"
  for_each = local.teams

  namespace = each.key
  name      = "game-server"
  labels    = { team = each.key }
  hosts     = provider::bk::hosts(provider::bk::expand(each.value.ips), 0)

  binary      = "server"
  directory   = "/data/${each.key}/bin"
  user        = "game"
  commands    = { start = "./server.sh start", stop = "./server.sh stop", restart = "./server.sh restart" }
  limits      = { cpu = each.value.cpu, mem = 40 }
  config_hash = md5(each.value.config)
  rollout     = { batch_size = 1, healthy = { stable_for = "1s" } }
}

output "not_running" {
  value = { for team, server in module.server : team => server.not_running }
}
