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

variable "cluster_name" {
  description = "The cluster that Karpenter adds nodes to."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name: a name that EKS allows."
  }
}

variable "node_role_arn" {
  description = "The nodes' role (module iam makes one)."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/", var.node_role_arn))
    error_message = "node_role_arn: the ARN of an IAM role."
  }
}

variable "node_access_entry" {
  description = "Whether to let the node role join by an access entry; a managed node group with the same role has made one already."
  type        = bool
  default     = false
}

variable "service_account" {
  description = "Namespace and name of Karpenter's service account."
  type = object({
    namespace = string
    name      = string
  })
  default = { namespace = "kube-system", name = "karpenter" }

  validation {
    condition     = alltrue([for word in values(var.service_account) : can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", word))])
    error_message = "service_account: names that Kubernetes allows."
  }
}
