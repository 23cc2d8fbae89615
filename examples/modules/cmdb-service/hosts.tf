variable "bk_biz_id" {
  description = "ID of the business in CMDB."
  type        = number
}

variable "namespace" {
  description = "Namespace of the process: `BIZ_<bk_biz_id>` unless given."
  type        = string
  default     = null
}

variable "topology" {
  description = "Hosts by the names of their sets and modules: `env`, `set` and `module`, expressions as in GSEKit. This, `dynamic_group`, `service_template` or `bk_host_ids` is required."
  type        = any
  default     = null

  validation {
    condition     = length(setsubtract(try(keys(var.topology), []), ["env", "module", "set"])) == 0
    error_message = join("", [for known in [["env", "module", "set"]] : "topology has no field ${join(", ", setsubtract(try(keys(var.topology), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "dynamic_group" {
  description = "Hosts that a dynamic group finds, by its ID or name."
  type        = string
  default     = null
}

variable "service_template" {
  description = "Hosts in modules of a service template, by its ID or name."
  type        = string
  default     = null
}

variable "bk_host_ids" {
  description = "Hosts by their IDs in CMDB."
  type        = list(number)
  default     = null
}

variable "filter" {
  description = "Which hosts of these: `os_type` (`linux`, `windows`, ...), `bk_cloud_id`, and `host_name`, an expression."
  type        = any
  default     = null

  validation {
    condition     = length(setsubtract(try(keys(var.filter), []), ["bk_cloud_id", "host_name", "os_type"])) == 0
    error_message = join("", [for known in [["bk_cloud_id", "host_name", "os_type"]] : "filter has no field ${join(", ", setsubtract(try(keys(var.filter), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "address" {
  description = "What hosts are addressed by: `agent_id`, `ip` or `auto`."
  type        = string
  default     = "auto"
}

variable "key" {
  description = "Host key, with fields of CMDB in braces."
  type        = string
  default     = "{bk_host_innerip}"
}

variable "min_hosts" {
  description = "Fewer hosts than this are an error, so that a module that was emptied in CMDB removes no process."
  type        = number
  default     = 1
}
