terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

output "ip" {
  value = provider::bk::parse_host("0:10.0.0.1").ip
}
