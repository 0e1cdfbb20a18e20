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

variable "existing_bucket" {
  description = "A bucket to use instead of making one; its settings stay as they are."
  type        = string
  default     = null

  validation {
    condition     = var.existing_bucket == null || can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.existing_bucket))
    error_message = "existing_bucket: the name of an S3 bucket."
  }
}

variable "bucket_name" {
  description = "Name of the bucket to make; null: the prefix and random letters."
  type        = string
  default     = null

  validation {
    condition     = var.bucket_name == null || can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket_name))
    error_message = "bucket_name: 3 to 63 lower-case letters, digits and dashes."
  }
}

variable "kms_key_arn" {
  description = "Key for the objects; null: S3's own keys."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}

variable "log_bucket" {
  description = "A bucket for access logs; null: none are kept."
  type        = string
  default     = null

  validation {
    condition     = var.log_bucket == null || can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.log_bucket))
    error_message = "log_bucket: the name of an S3 bucket."
  }
}

variable "days" {
  description = "After how many days objects go: checkpoints and packages since they were written (0: never), replaced versions since they were replaced, abandoned uploads since they began."
  type = object({
    checkpoints = optional(number, 90)
    packages    = optional(number, 365)
    replaced    = optional(number, 7)
    uploads     = optional(number, 1)
  })
  default = {}

  validation {
    condition     = alltrue([for days in values(var.days) : days >= 0 && floor(days) == days]) && var.days.replaced >= 1 && var.days.uploads >= 1
    error_message = "days: whole numbers; replaced versions and abandoned uploads at least 1, or they would bill for ever."
  }
}

variable "force_destroy" {
  description = "Whether destroying the module deletes a bucket that still holds objects, with every checkpoint."
  type        = bool
  default     = false
}

variable "lustre" {
  description = "An FSx for Lustre file system over the bucket's data/ prefix, for input that many nodes read at once; null: none. It bills by its size, used or not."
  type = object({
    subnet_id             = string
    security_group_ids    = list(string)
    size_gib              = number
    throughput_per_tib    = optional(number, 125)
    automatic_backup_days = optional(number, 0)
  })
  default = null

  validation {
    condition     = var.lustre == null || try((var.lustre.size_gib == 1200 || var.lustre.size_gib % 2400 == 0) && var.lustre.size_gib > 0 && contains([125, 250, 500, 1000], var.lustre.throughput_per_tib) && startswith(var.lustre.subnet_id, "subnet-"), false)
    error_message = "lustre: 1200 GiB or a multiple of 2400, a throughput of 125, 250, 500 or 1000 MB/s per TiB, and a subnet."
  }
}
