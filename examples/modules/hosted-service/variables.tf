variable "name" {
  description = "Name of the process within its namespace."
  type        = string
}

variable "labels" {
  description = "Labels of the registration."
  type        = map(string)
  default     = null
}

variable "binary" {
  description = "File name of the binary: `name` unless given."
  type        = string
  default     = null
}

variable "directory" {
  description = "Working directory; commands run in it."
  type        = string
}

variable "pid_path" {
  description = "File that holds the process id: `<directory>/<binary>.pid` unless given."
  type        = string
  default     = null
}

variable "user" {
  description = "System account that the process runs as."
  type        = string
  default     = "root"
}

variable "config_path" {
  description = "Configuration file."
  type        = string
  default     = null
}

variable "log_path" {
  description = "Where the process writes its logs."
  type        = string
  default     = null
}

variable "commands" {
  description = "Commands of the process: `start`, `stop`, `restart`, and where there are any `reload`, `kill`, `version`, `health`."
  type        = any

  validation {
    condition     = length(setsubtract(try(keys(var.commands), []), ["health", "kill", "reload", "restart", "start", "stop", "version"])) == 0
    error_message = join("", [for known in [["health", "kill", "reload", "restart", "start", "stop", "version"]] : "commands has no field ${join(", ", setsubtract(try(keys(var.commands), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "limits" {
  description = "Most that the process may use: `cpu` and `mem`, in percent of the whole machine, and `fd`, `disk`, `net`. The agent stops a process that exceeds them and starts it again. No limits unless given."
  type        = any
  default     = null

  validation {
    condition     = length(setsubtract(try(keys(var.limits), []), ["cpu", "disk", "fd", "mem", "net"])) == 0
    error_message = join("", [for known in [["cpu", "disk", "fd", "mem", "net"]] : "limits has no field ${join(", ", setsubtract(try(keys(var.limits), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "monitor" {
  description = "How the agent monitors the process: `start_check_secs`, `stop_check_secs`, `start_retries`, `start_interval`, `op_timeout`, `crontab_rule`, and `auto_type`, which is 1 (resident) unless given."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(try(keys(var.monitor), []), ["auto_type", "crontab_rule", "op_timeout", "start_check_secs", "start_interval", "start_retries", "stop_check_secs"])) == 0
    error_message = join("", [for known in [["auto_type", "crontab_rule", "op_timeout", "start_check_secs", "start_interval", "start_retries", "stop_check_secs"]] : "monitor has no field ${join(", ", setsubtract(try(keys(var.monitor), []), known))}. Its fields are ${join(", ", known)}."])
  }
}

variable "config_hash" {
  description = "MD5 checksum of the configuration file, as `filemd5(\"game.conf\")` gives it. When it changes, `on_update` applies, as to a changed command."
  type        = string
  default     = null

  validation {
    condition     = var.config_hash == null || can(regex("^[0-9a-fA-F]{32}$", var.config_hash))
    error_message = "config_hash is an MD5 checksum, as filemd5(\"game.conf\") gives it."
  }
}
