terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

# For the hosts of a bk_hosted_process: { "10.0.0.1" = "0:10.0.0.1", … }
output "hosts" {
  value = provider::bk::hosts(provider::bk::expand("10.0.0.[1-20]"), 0)
}
