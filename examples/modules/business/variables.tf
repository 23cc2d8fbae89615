variable "bk_biz_id" {
  description = "ID of the business in CMDB."
  type        = number
}

variable "topology" {
  description = "Which sets and modules: `env`, `set` and `module`, expressions as in GSEKit. All of them unless given."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(try(keys(var.topology), []), ["env", "module", "set"])) == 0
    error_message = join("", [for known in [["env", "module", "set"]] : "topology has no field ${join(", ", setsubtract(try(keys(var.topology), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "process_name" {
  description = "Which processes, by an expression for bk_process_name. All of them unless given."
  type        = string
  default     = null
}

variable "inst_ids" {
  description = "inst_id of the first instance of a process on its host, by bk_process_id: GSEKit keeps these numbers to itself."
  type        = map(number)
  default     = null
}

variable "group_by" {
  description = "What one resource is: a process on all hosts (name), in modules of one name (module), in one module of a set (set), or on one host (process)."
  type        = string
  default     = "module"
}

variable "address" {
  description = "What hosts are addressed by: agent_id, ip or auto."
  type        = string
  default     = "auto"
}

variable "key" {
  description = "Host key, with fields of CMDB in braces."
  type        = string
  default     = "{bk_host_innerip}"
}

variable "min_hosts" {
  description = "Fewer hosts than this in the whole scope are an error."
  type        = number
  default     = 1
}

variable "min_hosts_by_module" {
  description = "Fewer hosts than this in a module, by the module's name, are an error. A module that is not named here may be emptied."
  type        = map(number)
  default     = {}
  nullable    = false
}

variable "operation" {
  description = "What to do with all processes, in the order of their priorities: start, stop, restart, reload or kill. Nothing unless given."
  type        = string
  default     = null
}

variable "order" {
  description = "Has the operation take priorities in another order than GSEKit: ascending or descending."
  type        = string
  default     = null
}

variable "triggers" {
  description = "Any values. When one changes, the operation runs again."
  type        = map(string)
  default     = null
}

variable "run_on_create" {
  description = "Whether the operation runs as soon as it is given, and on hosts that join, and not only when triggers change."
  type        = bool
  default     = true
}
