terraform {
  required_providers {
    bk = {
      source = "blueking/bk"
    }
  }
}

provider "bk" {
  endpoint = "https://paas.example.com"
  app_code = "platform-infra"
  username = "admin"

  # app_secret comes from BK_APP_SECRET, so that no plan or variable file holds it.

  default_labels = { managed_by = "terraform" }
}
