variable "name" {
  description = "The site's name in sites.yaml."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", var.name)) && !contains(["here", "any"], var.name)
    error_message = "name: letters, digits, dots, dashes and underscores, at most 100; not 'here' or 'any'."
  }
}

variable "location" {
  description = "Country or grid region, for carbon; null: unknown."
  type        = string
  default     = null
}

variable "currency" {
  description = "Currency of every amount below (three letters)."
  type        = string
  default     = "USD"

  validation {
    condition     = can(regex("^[A-Z]{3}$", var.currency))
    error_message = "currency: three capital letters."
  }
}

variable "server" {
  description = "One server as bought: price, cores, GPUs, the GPUs' key in Headway's catalogue, memory in GiB."
  type = object({
    price       = number
    cores       = number
    gpus        = number
    accelerator = string
    memory_gib  = number
  })

  validation {
    condition     = var.server.price > 0 && var.server.cores >= 1 && var.server.gpus >= 1 && var.server.memory_gib >= 1 && can(regex("^[a-z0-9][a-z0-9-]*$", var.server.accelerator))
    error_message = "server: price, cores, gpus and memory_gib above 0, and an accelerator such as l40s (headway accelerators lists them)."
  }
}

variable "finance" {
  description = "Years of life, share of the price left after them, cost of capital a year, share of its hours that a server is used."
  type = object({
    life_years      = optional(number, 5)
    residual        = optional(number, 0)
    cost_of_capital = optional(number, 0)
    utilisation     = optional(number)
  })
  default = {}

  validation {
    condition     = var.finance.life_years > 0 && var.finance.residual >= 0 && var.finance.residual < 1 && var.finance.cost_of_capital >= 0 && var.finance.cost_of_capital < 1 && coalesce(var.finance.utilisation, 0.5) > 0 && coalesce(var.finance.utilisation, 0.5) <= 1
    error_message = "finance: life above 0, shares between 0 and 1."
  }
}

variable "power" {
  description = "One server's draw in W at full load, the room's PUE, and the price of a kWh."
  type = object({
    watts  = number
    pue    = optional(number, 1.5)
    tariff = number
  })

  validation {
    condition     = var.power.watts > 0 && var.power.pue >= 1 && var.power.tariff >= 0
    error_message = "power: watts above 0, a PUE of at least 1, a tariff that is not negative."
  }
}

variable "monthly" {
  description = "Rent and staff per server and month; null: none stated."
  type = object({
    colo  = optional(number)
    staff = optional(number)
  })
  default = {}

  validation {
    condition     = coalesce(var.monthly.colo, 0) >= 0 && coalesce(var.monthly.staff, 0) >= 0
    error_message = "monthly: amounts that are not negative."
  }
}

variable "pools" {
  description = "The site's pools: name and number of servers."
  type        = map(number)

  validation {
    condition     = length(var.pools) > 0 && alltrue([for name, nodes in var.pools : can(regex("^[a-z][a-z0-9-]{0,39}$", name)) && nodes >= 1 && floor(nodes) == nodes])
    error_message = "pools: at least one, named by lower-case letters, digits and dashes, with a whole number of servers."
  }
}

variable "sensitivities" {
  description = "Which data may be used there."
  type        = list(string)
  default     = ["public", "internal", "confidential"]

  validation {
    condition     = length(var.sensitivities) > 0 && alltrue([for word in var.sensitivities : contains(["public", "internal", "confidential", "restricted"], word)])
    error_message = "sensitivities: of public, internal, confidential, restricted."
  }
}

variable "join" {
  description = "How servers join: a cluster of their own (kubeadm: its address and the hash of its CA), or the EKS cluster as hybrid nodes (its name and region)."
  type = object({
    kind         = string
    api_endpoint = optional(string)
    ca_cert_hash = optional(string)
    cluster_name = optional(string)
    region       = optional(string)
  })

  validation {
    condition     = contains(["own-cluster", "eks-hybrid"], var.join.kind)
    error_message = "join: kind own-cluster or eks-hybrid."
  }

  validation {
    condition     = var.join.kind != "own-cluster" || (can(regex("^[^/ ]+:[0-9]+$", var.join.api_endpoint)) && can(regex("^sha256:[0-9a-f]{64}$", var.join.ca_cert_hash)))
    error_message = "join: own-cluster needs api_endpoint (host:port) and ca_cert_hash (sha256:...)."
  }

  validation {
    condition     = var.join.kind != "eks-hybrid" || try(length(var.join.cluster_name) > 0 && length(var.join.region) > 0, false)
    error_message = "join: eks-hybrid needs cluster_name and region."
  }
}
