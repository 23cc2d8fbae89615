terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

output "sets" {
  value = provider::bk::match("gz-[1-3]", ["gz-1", "gz-2", "gz-10", "sh-1"]) # gz-1, gz-2
}
