variable "name" {
  description = "Name of the cluster, and prefix of everything else."
  type        = string
  default     = "headway"
}

variable "region" {
  description = "AWS region; also the site's name in sites.yaml."
  type        = string
  default     = "us-east-1"
}

variable "zones" {
  description = "Two availability zones; GPU machines stand in the first."
  type        = list(string)
  default     = ["us-east-1a", "us-east-1b"]

  validation {
    condition     = length(var.zones) >= 2
    error_message = "zones: at least two."
  }
}

variable "admin_arn" {
  description = "The IAM role or user that may administer the cluster; null: nobody yet."
  type        = string
  default     = null
}

variable "alarm_email" {
  description = "Who is told when the account spends too much."
  type        = string
}

variable "monthly_usd" {
  description = "What the account may cost in a month before the alarm, in USD."
  type        = number
  default     = 1000
}

variable "reservation_id" {
  description = "The capacity reservation (cr-...) of p4d.24xlarge machines that the reserved pool draws on."
  type        = string
}

variable "existing_vpc" {
  description = "A VPC to use instead of making one, with its private subnets by zone."
  type = object({
    vpc_id          = string
    private_subnets = map(string)
  })
  default = null
}

variable "database_multi_az" {
  description = "A second PostgreSQL in another zone, for twice the price."
  type        = bool
  default     = false
}
