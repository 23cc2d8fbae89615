import {
  to = bk_hosted_process.web
  id = "web:nginx"
}
