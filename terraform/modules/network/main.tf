# A VPC whose nodes have no public address: private subnets, endpoints, NAT only when asked for.

locals {
  make       = var.existing == null
  zones      = local.make ? { for index, zone in var.zones : zone => index } : {}
  nat_zones  = var.nat == "none" ? {} : { for zone, index in local.zones : zone => index if var.nat == "per-zone" || index == 0 }
  flow_logs  = local.make && var.flow_log_days > 0
  interfaces = local.make ? var.interface_endpoints : toset([])
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "network"
    "headway.dev/managed-by" = "terraform"
  })
}

data "aws_region" "here" {}

resource "aws_vpc" "this" {
  count = local.make ? 1 : 0

  cidr_block           = var.cidr
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags                 = merge(local.tags, { Name = var.name })

  lifecycle {
    precondition {
      condition     = length(var.zones) >= 2
      error_message = "zones: name at least two, or give an existing VPC."
    }
  }
}

# The default group of a VPC lets everything out; this takes its rules away, so that nothing leans on it.
resource "aws_default_security_group" "this" {
  count = local.make ? 1 : 0

  vpc_id = aws_vpc.this[0].id
  tags   = merge(local.tags, { Name = "${var.name}-default-unused" })
}

resource "aws_subnet" "private" {
  for_each = local.zones

  vpc_id            = aws_vpc.this[0].id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.cidr, 4, each.value)
  tags = merge(local.tags, {
    Name                              = "${var.name}-private-${each.key}"
    "kubernetes.io/role/internal-elb" = "1"
  })
}

resource "aws_route_table" "private" {
  for_each = local.zones

  vpc_id = aws_vpc.this[0].id
  tags   = merge(local.tags, { Name = "${var.name}-private-${each.key}" })
}

resource "aws_route_table_association" "private" {
  for_each = local.zones

  subnet_id      = aws_subnet.private[each.key].id
  route_table_id = aws_route_table.private[each.key].id
}
