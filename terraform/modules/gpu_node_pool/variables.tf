variable "name" {
  description = "The pool's name, as in sites.yaml: its label and taint headway.dev/pool, and its tag."
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

variable "vpc_id" {
  description = "The VPC; needed where the pool uses EFA, for its security group."
  type        = string
  default     = null

  validation {
    condition     = var.vpc_id == null || can(regex("^vpc-", var.vpc_id))
    error_message = "vpc_id: a vpc-... id."
  }
}

variable "instance_types" {
  description = "Instance types with the same GPUs. Plans reckon with the first: put the one with the least memory there. Several make spot capacity likelier."
  type        = list(string)

  validation {
    condition     = length(var.instance_types) > 0 && length(var.instance_types) <= 20 && alltrue([for type in var.instance_types : contains(keys(jsondecode(file("${path.module}/instances.json"))), type)])
    error_message = "instance_types: 1 to 20 types with NVIDIA GPUs that this module knows (instances.json)."
  }

  # A run's workers must be alike: as many GPUs of one make in each node.
  validation {
    condition = try(length(distinct([
      for type in var.instance_types : "${jsondecode(file("${path.module}/instances.json"))[type].gpus} ${split("-", jsondecode(file("${path.module}/instances.json"))[type].accelerator)[0]}"
    ])) == 1, false)
    error_message = "instance_types: all with the same number of the same GPUs."
  }

  validation {
    condition = try(alltrue([
      for type in var.instance_types : jsondecode(file("${path.module}/instances.json"))[type].gpu_memory_bytes >= jsondecode(file("${path.module}/instances.json"))[var.instance_types[0]].gpu_memory_bytes
    ]), false)
    error_message = "instance_types: the first must be the one with the least GPU memory, since plans reckon with it."
  }
}

variable "capacity" {
  description = "How the machines are paid: on-demand, spot, reserved (a capacity reservation) or block (a capacity block)."
  type        = string

  validation {
    condition     = contains(["on-demand", "spot", "reserved", "block"], var.capacity)
    error_message = "capacity: on-demand, spot, reserved or block."
  }
}

variable "capacity_reservation_id" {
  description = "The capacity reservation or block that a reserved or block pool draws on."
  type        = string
  default     = null

  validation {
    condition     = var.capacity_reservation_id == null || can(regex("^cr-[0-9a-f]+$", var.capacity_reservation_id))
    error_message = "capacity_reservation_id: a cr-... id."
  }

  validation {
    condition     = (var.capacity_reservation_id != null) == contains(["reserved", "block"], var.capacity)
    error_message = "capacity_reservation_id: needed for capacity reserved and block, and for no other."
  }
}

variable "max_nodes" {
  description = "The most nodes at once. The least is always 0: an idle pool costs nothing."
  type        = number

  validation {
    condition     = var.max_nodes >= 1 && var.max_nodes <= 450 && floor(var.max_nodes) == var.max_nodes
    error_message = "max_nodes: a whole number, 1 to 450."
  }
}

variable "volume" {
  description = "Each node's disk (gp3): size in GiB, throughput in MiB/s, operations per second. Images are unpacked here; scratch is the instance store."
  type = object({
    gib        = optional(number, 200)
    throughput = optional(number, 500)
    iops       = optional(number, 3000)
  })
  default = {}

  validation {
    condition     = var.volume.gib >= 50 && var.volume.gib <= 16384 && var.volume.throughput >= 125 && var.volume.throughput <= 1000 && var.volume.iops >= 3000 && var.volume.iops <= 16000 && var.volume.throughput * 4 <= var.volume.iops
    error_message = "volume: 50 to 16384 GiB, 125 to 1000 MiB/s and at most a quarter of the operations, 3000 to 16000 operations."
  }
}

variable "efa" {
  description = "Elastic Fabric Adapter between nodes, in one placement group and one zone; null: where every type has it and there is more than one node."
  type        = bool
  default     = null
}
