output "vpc_id" {
  description = "The VPC."
  value       = local.make ? aws_vpc.this[0].id : var.existing.vpc_id
}

output "cidr" {
  description = "Addresses of the VPC that was made; null where one was given."
  value       = local.make ? var.cidr : null
}

output "private_subnet_ids" {
  description = "Private subnets, in the order of the zones."
  value       = local.make ? [for zone in var.zones : aws_subnet.private[zone].id] : values(var.existing.private_subnets)
}

output "private_subnets" {
  description = "Private subnets by availability zone: machines that talk fast stand in one zone."
  value       = local.make ? { for zone, subnet in aws_subnet.private : zone => subnet.id } : var.existing.private_subnets
}
