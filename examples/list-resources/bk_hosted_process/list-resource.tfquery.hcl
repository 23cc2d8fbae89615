list "bk_hosted_process" "web" {
  provider = bk
  limit    = 500

  config {
    namespace   = "web"
    name_prefix = "nginx"
  }
}
