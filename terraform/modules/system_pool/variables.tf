variable "name" {
  description = "The pool's name: its label headway.dev/pool and its tag."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,39}$", var.name))
    error_message = "name: lower-case letters, digits and dashes, a letter first, at most 40."
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
  description = "The cluster that the nodes join."
  type        = string

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name: a name that EKS allows."
  }
}

variable "subnet_ids" {
  description = "Private subnets for the nodes."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) > 0 && alltrue([for subnet in var.subnet_ids : startswith(subnet, "subnet-")])
    error_message = "subnet_ids: at least one subnet-... id."
  }
}

variable "security_group_ids" {
  description = "Groups of the nodes: the cluster's own first."
  type        = list(string)

  validation {
    condition     = length(var.security_group_ids) > 0 && alltrue([for group in var.security_group_ids : startswith(group, "sg-")])
    error_message = "security_group_ids: at least one sg-... id."
  }
}

variable "node_role_arn" {
  description = "The nodes' IAM role (module iam makes one)."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/", var.node_role_arn))
    error_message = "node_role_arn: the ARN of an IAM role."
  }
}

variable "volume_kms_key_arn" {
  description = "Key for the nodes' volumes; null uses the account's own EBS key. The autoscaling service must be allowed to use it."
  type        = string
  default     = null

  validation {
    condition     = var.volume_kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.volume_kms_key_arn))
    error_message = "volume_kms_key_arn: the ARN of a KMS key."
  }
}

variable "instance_types" {
  description = "Instance types without accelerators, all of one architecture."
  type        = list(string)
  default     = ["t3.large"]

  validation {
    condition     = length(var.instance_types) > 0 && alltrue([for type in var.instance_types : can(regex("^(t3a?|[cmr][5-8][a-z]{0,3})\\.[0-9a-z]+$", type))]) && length(distinct([for type in var.instance_types : can(regex("^[a-z][0-9]g", type))])) == 1
    error_message = "instance_types: general types (t3, c5 to c8, m5 to m8, r5 to r8) of one architecture."
  }
}

variable "nodes" {
  description = "How many nodes stand always, and how many at most."
  type = object({
    min = number
    max = number
  })
  default = { min = 1, max = 3 }

  validation {
    condition     = var.nodes.min >= 1 && var.nodes.max >= var.nodes.min && floor(var.nodes.min) == var.nodes.min && floor(var.nodes.max) == var.nodes.max
    error_message = "nodes: whole numbers, at least 1, the most not below the least: what adds GPU nodes runs here."
  }
}

variable "volume_gib" {
  description = "Size of each node's disk (gp3)."
  type        = number
  default     = 30

  validation {
    condition     = var.volume_gib >= 20 && var.volume_gib <= 1000
    error_message = "volume_gib: 20 to 1000."
  }
}
