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

variable "existing" {
  description = "A VPC to use instead of making one, with its private subnets by availability zone."
  type = object({
    vpc_id          = string
    private_subnets = map(string)
  })
  default = null

  validation {
    condition     = var.existing == null || try(startswith(var.existing.vpc_id, "vpc-") && length(var.existing.private_subnets) >= 2 && alltrue([for subnet in values(var.existing.private_subnets) : startswith(subnet, "subnet-")]), false)
    error_message = "existing: a vpc-... id and at least two subnet-... ids, by availability zone."
  }
}

variable "cidr" {
  description = "Addresses of the VPC; each zone gets a sixteenth for nodes, and a small public range only where there is NAT."
  type        = string
  default     = "10.64.0.0/16"

  validation {
    condition     = can(cidrhost(var.cidr, 0)) && try(tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 20, false)
    error_message = "cidr: an IPv4 range of /16 to /20."
  }
}

variable "zones" {
  description = "Availability zones; EKS wants at least two."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.zones) <= 6 && length(distinct(var.zones)) == length(var.zones) && alltrue([for zone in var.zones : can(regex("^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$", zone))])
    error_message = "zones: up to six different zones such as us-east-1a."
  }
}

variable "nat" {
  description = "How nodes reach the internet: none (private images only), single (one gateway, cheapest), per-zone (survives a zone)."
  type        = string
  default     = "none"

  validation {
    condition     = contains(["none", "single", "per-zone"], var.nat)
    error_message = "nat: none, single or per-zone."
  }
}

variable "interface_endpoints" {
  description = "AWS services that nodes reach without NAT, by their short names; each costs by the hour and zone. S3 is always reached by a gateway endpoint, which is free."
  type        = set(string)
  default     = ["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "logs", "sts"]

  validation {
    condition     = alltrue([for service in var.interface_endpoints : contains(["aps-workspaces", "autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "kms", "logs", "rds", "secretsmanager", "sqs", "sts"], service)])
    error_message = "interface_endpoints: of aps-workspaces, autoscaling, ec2, ecr.api, ecr.dkr, eks, eks-auth, kms, logs, rds, secretsmanager, sqs, sts."
  }
}

variable "flow_log_days" {
  description = "Days to keep the VPC's flow logs; 0 keeps none."
  type        = number
  default     = 365

  validation {
    condition     = contains([0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.flow_log_days)
    error_message = "flow_log_days: 0 or a retention that CloudWatch Logs knows (1, 3, 5, 7, 14, 30, 60, 90, ..., 365, 400, 545, 731)."
  }
}

variable "kms_key_arn" {
  description = "Key for the flow logs; null uses CloudWatch's own."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}
