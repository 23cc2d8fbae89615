terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

output "ips" {
  value = provider::bk::expand("10.0.[0-1].[1,5-7]") # 10.0.0.1, 10.0.0.5, …, 10.0.1.7
}
