variable "namespace" {
  description = "Namespace of the process: the team or the business that owns it."
  type        = string
}

variable "hosts" {
  description = "Hosts, as a map of host key to host address such as `0:10.0.0.1`."
  type        = map(string)

  validation {
    condition     = length(var.hosts) > 0
    error_message = "A service needs at least one host."
  }
}
