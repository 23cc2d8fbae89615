import {
  to = bk_hosted_process.web
  identity = {
    namespace = "web"
    name      = "nginx"
  }
}
