variable "name" {
  description = "Prefix of all names."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,30}$", var.name))
    error_message = "name: lower-case letters, digits and dashes, a letter first, at most 31."
  }
}

variable "site" {
  description = "The site's name in sites.yaml; every resource is tagged with it, so that the bill can be matched."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", var.site)) && !contains(["here", "any"], var.site)
    error_message = "site: letters, digits, dots, dashes and underscores, at most 100; not 'here' or 'any'."
  }
}

variable "team" {
  description = "The team that answers for these resources (tag headway.dev/team)."
  type        = string
  default     = "platform"

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", var.team))
    error_message = "team: letters, digits, dots, dashes and underscores, at most 100."
  }
}

variable "tags" {
  description = "Further tags; those named headway.dev/... are set by the module."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for key in keys(var.tags) : !startswith(key, "headway.dev/") && !startswith(lower(key), "aws:")])
    error_message = "tags: keys that begin with headway.dev/ or aws: are not yours to set."
  }
}

variable "prometheus" {
  description = "Whether to make a workspace of Amazon Managed Prometheus; it bills by samples."
  type        = bool
  default     = false
}

variable "existing_workspace_arn" {
  description = "A workspace to write to instead of making one."
  type        = string
  default     = null

  validation {
    condition     = var.existing_workspace_arn == null || can(regex("^arn:aws[a-z-]*:aps:[a-z0-9-]+:[0-9]{12}:workspace/", var.existing_workspace_arn))
    error_message = "existing_workspace_arn: the ARN of a workspace of Managed Prometheus."
  }
}

variable "cluster_name" {
  description = "The cluster whose Prometheus writes to the workspace."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name: a name that EKS allows."
  }
}

variable "service_account" {
  description = "Namespace and name of the service account that writes."
  type = object({
    namespace = string
    name      = string
  })
  default = { namespace = "monitoring", name = "prometheus" }

  validation {
    condition     = alltrue([for word in values(var.service_account) : can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", word))])
    error_message = "service_account: names that Kubernetes allows."
  }
}

variable "kms_key_arn" {
  description = "Key of the workspace and the log group; null: AWS's own."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}

variable "log_days" {
  description = "Days to keep the workspace's own log."
  type        = number
  default     = 365

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_days)
    error_message = "log_days: a retention that CloudWatch Logs knows (1, 3, 5, 7, 14, 30, 60, 90, ..., 365, 400, 545, 731)."
  }
}
