terraform {
  required_providers {
    bk = { source = "blueking/bk" }
  }
}

output "rollout" {
  value = provider::bk::waves(["1", "10%", "*2"], 1000) # [1, 100, 200, 400, 299]
}
