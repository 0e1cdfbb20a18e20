variable "name" {
  description = "Name of the budget."
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

variable "monthly_usd" {
  description = "What the account may cost in a month, in USD."
  type        = number

  validation {
    condition     = var.monthly_usd > 0
    error_message = "monthly_usd: more than 0."
  }
}

variable "emails" {
  description = "Who is told; at least one, unless a topic is given."
  type        = list(string)
  default     = []

  validation {
    condition     = length(var.emails) <= 10 && alltrue([for address in var.emails : can(regex("^[^@ ]+@[^@ ]+\\.[^@ ]+$", address))])
    error_message = "emails: up to ten addresses."
  }
}

variable "topic_arn" {
  description = "An SNS topic that is told too."
  type        = string
  default     = null

  validation {
    condition     = var.topic_arn == null || can(regex("^arn:aws[a-z-]*:sns:", var.topic_arn))
    error_message = "topic_arn: the ARN of an SNS topic."
  }

  validation {
    condition     = var.topic_arn != null || length(var.emails) > 0
    error_message = "topic_arn: give it, or an address in emails; an alarm that nobody hears is none."
  }
}

variable "actual_percent" {
  description = "Shares of the amount at which spending alarms."
  type        = list(number)
  default     = [50, 80, 100]

  validation {
    condition     = length(var.actual_percent) >= 1 && length(var.actual_percent) <= 4 && alltrue([for share in var.actual_percent : share > 0 && share <= 1000])
    error_message = "actual_percent: one to four shares above 0."
  }
}

variable "only_this_site" {
  description = "Count only what carries the tag headway.dev/site of this site (a cost-allocation tag, to be activated once in the billing console); else the whole account."
  type        = bool
  default     = false
}
