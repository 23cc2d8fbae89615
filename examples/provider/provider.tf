terraform {
  required_providers {
    bk = {
      source = "blueking/bk"
    }
  }
}

variable "bk_app_secret" {
  type      = string
  sensitive = true
}

provider "bk" {
  endpoint   = "https://paas.example.com"
  app_code   = "platform-infra"
  app_secret = var.bk_app_secret # or BK_APP_SECRET in the environment
  username   = "admin"

  default_labels = { managed_by = "terraform" }
}
