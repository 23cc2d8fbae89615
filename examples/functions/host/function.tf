terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

output "hosts" {
  value = { for n, ip in ["10.0.0.1", "10.0.0.2"] : "web-${n + 1}" => provider::bk::host(ip, 0) }
}
