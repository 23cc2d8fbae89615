variable "namespace" {
  description = "Namespace of the process: the team or the business that owns it."
  type        = string
}

variable "name" {
  description = "Name of the process within its namespace."
  type        = string
}

variable "labels" {
  description = "Labels of the registration."
  type        = map(string)
  default     = null
}

variable "hosts" {
  description = "Hosts, as a map of host key to host address such as 0:10.0.0.1."
  type        = map(string)

  validation {
    condition     = length(var.hosts) > 0
    error_message = "A service needs at least one host."
  }
}

variable "binary" {
  description = "File name of the binary."
  type        = string
}

variable "directory" {
  description = "Working directory; commands run in it."
  type        = string
}

variable "pid_path" {
  description = "File that holds the process id: <directory>/<binary>.pid unless given."
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

variable "commands" {
  description = "Commands that start, stop and restart the process."
  type = object({
    start   = string
    stop    = string
    restart = string
  })
}

variable "limits" {
  description = "Most CPU and memory that the process may use, in percent of the whole machine."
  type        = object({ cpu = number, mem = number })
  default     = { cpu = 30, mem = 10 }
}

variable "config_hash" {
  description = "Hash of the configuration. When it changes, the process is restarted; without one it never is."
  type        = string
  default     = null
}

variable "rollout" {
  description = "How registrations and restarts spread over the hosts. All at once unless given."
  type = object({
    waves            = optional(list(string))
    canary           = optional(list(string))
    batch_size       = optional(number)
    pause            = optional(string)
    wave_timeout     = optional(string)
    max_failed_hosts = optional(string)
  })
  default = null
}
