variable "name" {
  description = "The cluster's name."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,99}$", var.name))
    error_message = "name: lower-case letters, digits and dashes, a letter first, at most 100."
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

variable "existing" {
  description = "A cluster to use instead of making one; its add-ons, keys and access entries stay as they are."
  type = object({
    name                      = string
    endpoint                  = string
    certificate_authority     = string
    cluster_security_group_id = string
  })
  default = null

  validation {
    condition     = var.existing == null || try(startswith(var.existing.endpoint, "https://") && startswith(var.existing.cluster_security_group_id, "sg-"), false)
    error_message = "existing: the endpoint is an https:// address, the security group an sg-... id."
  }
}

variable "kubernetes_version" {
  description = "Kubernetes minor version; keep it in standard support, extended support costs six times as much."
  type        = string
  default     = "1.33"

  validation {
    condition     = can(regex("^1\\.[0-9]{2}$", var.kubernetes_version))
    error_message = "kubernetes_version: a minor version such as 1.33."
  }
}

variable "subnet_ids" {
  description = "Private subnets of at least two zones."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for subnet in var.subnet_ids : startswith(subnet, "subnet-")])
    error_message = "subnet_ids: subnet-... ids."
  }
}

variable "public_access_cidrs" {
  description = "Addresses that may reach the API server from outside the VPC; none: it has no public address."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.public_access_cidrs : can(cidrhost(range, 0)) && try(tonumber(split("/", range)[1]) >= 16, false)])
    error_message = "public_access_cidrs: IPv4 ranges of /16 or smaller; never the whole internet."
  }
}

variable "access" {
  description = "Who may use the cluster, by a name: an IAM principal, and what it may do (admin, edit or view)."
  type = map(object({
    principal_arn = string
    policy        = optional(string, "view")
    namespaces    = optional(list(string), [])
  }))
  default = {}

  validation {
    condition     = alltrue([for entry in values(var.access) : contains(["admin", "edit", "view"], entry.policy) && can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/", entry.principal_arn))])
    error_message = "access: the ARN of an IAM role or user, and a policy of admin, edit or view."
  }
}

variable "remote_nodes" {
  description = "Addresses of owned servers (and of their pods) that join this cluster as EKS Hybrid Nodes; null: none."
  type = object({
    node_cidrs = list(string)
    pod_cidrs  = list(string)
  })
  default = null

  validation {
    condition     = var.remote_nodes == null || try(length(var.remote_nodes.node_cidrs) > 0 && alltrue([for range in concat(var.remote_nodes.node_cidrs, var.remote_nodes.pod_cidrs) : can(cidrhost(range, 0))]), false)
    error_message = "remote_nodes: at least one range of nodes, all of them IPv4 ranges."
  }
}

variable "addons" {
  description = "EKS add-ons and their versions; null takes the one that EKS proposes for the cluster's version."
  type        = map(string)
  default = {
    coredns                = null
    eks-pod-identity-agent = null
    kube-proxy             = null
    vpc-cni                = null
  }

  validation {
    condition     = alltrue([for version in values(var.addons) : version == null || can(regex("^v[0-9]+\\.[0-9]+\\.[0-9]+-eksbuild\\.[0-9]+$", version))])
    error_message = "addons: versions such as v1.19.5-eksbuild.1, or null."
  }
}

variable "kms_key_arn" {
  description = "Key for secrets and logs; null makes one."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}

variable "log_days" {
  description = "Days to keep the control plane's logs."
  type        = number
  default     = 365

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_days)
    error_message = "log_days: a retention that CloudWatch Logs knows (1, 3, 5, 7, 14, 30, 60, 90, ..., 365, 400, 545, 731)."
  }
}
