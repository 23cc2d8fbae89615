# How the process is released, looked after and removed. rollout, safety and timeouts have
# the type any, so that a misspelt field is an error. With an object type, Terraform drops
# fields that the type does not have.

variable "ensure" {
  description = "How far the process is looked after: `registered`, `hosted` (the agent revives it) or `running` (it is also started where it does not run)."
  type        = string
  default     = "running"
}

variable "on_update" {
  description = "What a changed command, path or limit does to the process: `restart`, `reload`, or `register`, which leaves the old process running."
  type        = string
  default     = "restart"
}

variable "rollout" {
  description = "How a change spreads over the hosts. Fields: `waves` or `batch_size`, `canary`, `pause`, `wave_timeout`, `max_failed_hosts`, `healthy = { stable_for, within, output }`, `on_failure`. By default one host goes first, then a quarter at a time. Each wave must be stable for 30 seconds within 3 minutes, and a failed host causes a rollback."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(try(keys(var.rollout), []), ["batch_size", "canary", "healthy", "max_failed_hosts", "on_failure", "pause", "wave_timeout", "waves"])) == 0
    error_message = join("", [for known in [["batch_size", "canary", "healthy", "max_failed_hosts", "on_failure", "pause", "wave_timeout", "waves"]] : "rollout has no field ${join(", ", setsubtract(try(keys(var.rollout), []), known))}. Its fields are ${join(", ", known)}."])
  }

  validation {
    condition     = length(setsubtract(try(keys(var.rollout.healthy), []), ["output", "stable_for", "within"])) == 0
    error_message = join("", [for known in [["output", "stable_for", "within"]] : "rollout.healthy has no field ${join(", ", setsubtract(try(keys(var.rollout.healthy), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "safety" {
  description = "How far a change may go: `max_removed_hosts`, `max_changed_hosts` (numbers or percentages) and `deletion_protection`. No limits unless given."
  type        = any
  default     = null

  validation {
    condition     = length(setsubtract(try(keys(var.safety), []), ["deletion_protection", "max_changed_hosts", "max_removed_hosts"])) == 0
    error_message = join("", [for known in [["deletion_protection", "max_changed_hosts", "max_removed_hosts"]] : "safety has no field ${join(", ", setsubtract(try(keys(var.safety), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "on_destroy" {
  description = "What becomes of the process on a host that leaves `hosts`, or with a destroy: `stop`, `kill`, or `unregister`, which leaves it running."
  type        = string
  default     = "stop"
}

variable "adopt_existing" {
  description = "Whether to take over hosts on which the process is registered already. Otherwise they are left alone, and the apply fails."
  type        = bool
  default     = false
}

variable "max_unreachable_hosts" {
  description = "How many hosts may have agents that do not answer, without failing the apply: a number, or a percentage such as `\"5%\"`. That of the provider unless given."
  type        = string
  default     = null
}

variable "verify" {
  description = "What is compared with the spec: `labels` or `agent`. That of the provider unless given."
  type        = string
  default     = null
}

variable "forget_unreachable" {
  description = "Whether hosts whose agents do not answer may be removed from the resource: for machines that are scrapped."
  type        = bool
  default     = false
}

variable "on_partial_create" {
  description = "What a create does that fails on some hosts: `warn` keeps what was done, `error` has Terraform replace the resource."
  type        = string
  default     = "warn"
}

variable "timeouts" {
  description = "Time limits for `create`, `read`, `update` and `delete`, such as `{ update = \"1h\" }`. 30 minutes for `create` and `update` unless given, ten for `delete`, two for `read`."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(try(keys(var.timeouts), []), ["create", "delete", "read", "update"])) == 0
    error_message = join("", [for known in [["create", "delete", "read", "update"]] : "timeouts has no field ${join(", ", setsubtract(try(keys(var.timeouts), []), known))}. Its fields are ${join(", ", known)}."])
  }
}
