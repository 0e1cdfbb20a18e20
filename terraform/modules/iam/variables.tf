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
  description = "The cluster whose service accounts take the roles (EKS Pod Identity)."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name: a name that EKS allows."
  }
}

variable "bucket_arn" {
  description = "The bucket of packages, logs and checkpoints."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]+$", var.bucket_arn))
    error_message = "bucket_arn: the ARN of an S3 bucket."
  }
}

variable "kms_key_arn" {
  description = "The key of the bucket's objects; null: S3's own."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}

variable "data_bucket_arns" {
  description = "Further buckets that training pods may read."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.data_bucket_arns : can(regex("^arn:aws[a-z-]*:s3:::[a-z0-9][a-z0-9.-]+$", arn))])
    error_message = "data_bucket_arns: ARNs of S3 buckets."
  }
}

variable "namespace" {
  description = "Namespace of Headway itself."
  type        = string
  default     = "headway"

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "namespace: a Kubernetes namespace."
  }
}

variable "training_namespaces" {
  description = "Namespaces of runs; the pods of each reach runs/NAMESPACE/ in the bucket and no other's."
  type        = list(string)
  default     = ["headway-runs"]

  validation {
    condition     = alltrue([for name in var.training_namespaces : can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", name))]) && length(distinct(var.training_namespaces)) == length(var.training_namespaces)
    error_message = "training_namespaces: different Kubernetes namespaces."
  }
}

variable "components" {
  description = "Which components get a role: gateway, controller, training, prices (price refresh), autoscaler (cluster autoscaler), volumes (EBS CSI driver)."
  type        = set(string)
  default     = ["gateway", "controller", "training", "prices", "autoscaler"]

  validation {
    condition     = alltrue([for name in var.components : contains(["gateway", "controller", "training", "prices", "autoscaler", "volumes"], name)])
    error_message = "components: of gateway, controller, training, prices, autoscaler, volumes."
  }
}

variable "existing_roles" {
  description = "Roles to use instead of making them, by component."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name, arn in var.existing_roles : contains(["gateway", "controller", "training", "prices", "autoscaler", "volumes"], name) && can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/", arn))])
    error_message = "existing_roles: ARNs of IAM roles, by component."
  }
}

variable "existing_node_role_arn" {
  description = "The nodes' role, where there is one already."
  type        = string
  default     = null

  validation {
    condition     = var.existing_node_role_arn == null || can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/", var.existing_node_role_arn))
    error_message = "existing_node_role_arn: the ARN of an IAM role."
  }
}
