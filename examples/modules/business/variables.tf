variable "bk_biz_id" {
  description = "ID of the business in CMDB."
  type        = number
}

variable "topology" {
  description = "Which sets and modules, by expressions as in GSEKit. All of them unless given."
  type = object({
    env    = optional(string)
    set    = optional(string)
    module = optional(string)
  })
  default  = {}
  nullable = false
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

variable "adopt" {
  description = "Take over what GSEKit or BSCP has registered. Without it, a host that has the process already is left alone, and the apply says so."
  type        = bool
  default     = true
}

variable "ensure" {
  description = "How far the processes are looked after: hosted, or running, which also starts those that do not run, in no order (see operation)."
  type        = string
  default     = "hosted"

  validation {
    condition     = contains(["hosted", "running"], var.ensure)
    error_message = "One of hosted and running: processes of CMDB have no limits, and the ESB registers those by hosting them."
  }
}

variable "on_destroy" {
  description = "What becomes of a process that is let go of: unregister leaves it running, stop and kill do not."
  type        = string
  default     = "unregister"
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
  description = "Whether the operation runs as soon as it is given, and not only when triggers change."
  type        = bool
  default     = true
}

variable "rollout" {
  description = "How changes spread over the hosts of a process, and the operation over those of a priority. All at once unless given."
  type = object({
    waves            = optional(list(string))
    batch_size       = optional(number)
    pause            = optional(string)
    wave_timeout     = optional(string)
    max_failed_hosts = optional(string)
  })
  default = null
}
