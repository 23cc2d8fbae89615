data "bk_registrations" "web" {
  namespace = "web"
  expected = {
    (bk_hosted_process.web.meta.name) = bk_hosted_process.web.hosts
  }
}

# Registrations that no configuration names any more: import or unregister them.
output "orphans" {
  value = data.bk_registrations.web.orphans
}

output "not_ours" {
  value = [
    for name, process in data.bk_registrations.web.registrations : name
    if anytrue([for registration in process.hosts : registration.fingerprint == null])
  ]
}
