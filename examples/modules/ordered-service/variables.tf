variable "namespace" {
  description = "Namespace of the processes: the team or the business that owns them."
  type        = string
}

variable "hosts" {
  description = "Hosts of the processes that have none of their own, as a map of host key to host address such as `0:10.0.0.1`."
  type        = map(string)
  default     = {}
}

variable "labels" {
  description = "Labels of the registrations."
  type        = map(string)
  default     = null
}

variable "processes" {
  description = "Processes by name. `directory` and `commands` are required. `priority` is the place in the order, 0 unless given. `hosts`, `binary`, `pid_path`, `user`, `config_path`, `log_path`, `limits` and `monitor` are those of the module hosted-service."
  type        = any

  validation {
    condition = length(flatten([for process in var.processes : setsubtract(keys(process), [
      "binary", "commands", "config_path", "directory", "hosts", "limits", "log_path", "monitor", "pid_path", "priority", "user",
    ])])) == 0
    error_message = join("", [for known in [["binary", "commands", "config_path", "directory", "hosts", "limits", "log_path", "monitor", "pid_path", "priority", "user"]] : "processes has no field ${join(", ", flatten([for name, process in var.processes : [for field in setsubtract(keys(process), known) : "${name}.${field}"]]))}. The fields of each are ${join(", ", known)}."])
  }

  validation {
    condition     = length(flatten([for process in var.processes : setsubtract(try(keys(process.commands), []), ["health", "kill", "reload", "restart", "start", "stop", "version"])])) == 0
    error_message = join("", [for known in [["health", "kill", "reload", "restart", "start", "stop", "version"]] : "commands has no field ${join(", ", flatten([for name, process in var.processes : [for field in setsubtract(try(keys(process.commands), []), known) : "${name}.commands.${field}"]]))}. Its fields are ${join(", ", known)}."])
  }

  validation {
    condition     = length(flatten([for process in var.processes : setsubtract(try(keys(process.limits), []), ["cpu", "disk", "fd", "mem", "net"])])) == 0
    error_message = join("", [for known in [["cpu", "disk", "fd", "mem", "net"]] : "limits has no field ${join(", ", flatten([for name, process in var.processes : [for field in setsubtract(try(keys(process.limits), []), known) : "${name}.limits.${field}"]]))}. Its fields are ${join(", ", known)}."])
  }

  validation {
    condition     = length(flatten([for process in var.processes : setsubtract(try(keys(process.monitor), []), ["auto_type", "crontab_rule", "op_timeout", "start_check_secs", "start_interval", "start_retries", "stop_check_secs"])])) == 0
    error_message = join("", [for known in [["auto_type", "crontab_rule", "op_timeout", "start_check_secs", "start_interval", "start_retries", "stop_check_secs"]] : "monitor has no field ${join(", ", flatten([for name, process in var.processes : [for field in setsubtract(try(keys(process.monitor), []), known) : "${name}.monitor.${field}"]]))}. Its fields are ${join(", ", known)}."])
  }
}

variable "operation" {
  description = "What `triggers` do to all processes in the order of their priorities: `start`, `stop`, `restart`, `reload` or `kill`. Changing it runs it as well."
  type        = string
  default     = "restart"
}

variable "triggers" {
  description = "Any values. When one changes, `operation` runs on all processes in order. It does not run when the module is created."
  type        = map(string)
  default     = null
}

variable "order" {
  description = "Has `operation` take priorities in another order than GSEKit: `ascending` or `descending`."
  type        = string
  default     = null
}
