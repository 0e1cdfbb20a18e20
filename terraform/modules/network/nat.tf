# Only where NAT is asked for: an internet gateway, a small public subnet for the NAT gateway, nothing else in it.

resource "aws_internet_gateway" "this" {
  count = length(local.nat_zones) > 0 ? 1 : 0

  vpc_id = aws_vpc.this[0].id
  tags   = merge(local.tags, { Name = var.name })
}

resource "aws_subnet" "public" {
  for_each = local.nat_zones

  vpc_id                  = aws_vpc.this[0].id
  availability_zone       = each.key
  cidr_block              = cidrsubnet(var.cidr, 8, 240 + each.value)
  map_public_ip_on_launch = false
  tags                    = merge(local.tags, { Name = "${var.name}-nat-${each.key}" })
}

resource "aws_route_table" "public" {
  count = length(local.nat_zones) > 0 ? 1 : 0

  vpc_id = aws_vpc.this[0].id
  tags   = merge(local.tags, { Name = "${var.name}-nat" })
}

resource "aws_route" "internet" {
  count = length(local.nat_zones) > 0 ? 1 : 0

  route_table_id         = aws_route_table.public[0].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this[0].id
}

resource "aws_route_table_association" "public" {
  for_each = local.nat_zones

  subnet_id      = aws_subnet.public[each.key].id
  route_table_id = aws_route_table.public[0].id
}

resource "aws_eip" "nat" {
  for_each = local.nat_zones

  domain = "vpc"
  tags   = merge(local.tags, { Name = "${var.name}-nat-${each.key}" })
}

resource "aws_nat_gateway" "this" {
  for_each = local.nat_zones

  allocation_id = aws_eip.nat[each.key].id
  subnet_id     = aws_subnet.public[each.key].id
  tags          = merge(local.tags, { Name = "${var.name}-${each.key}" })

  depends_on = [aws_route.internet]
}

resource "aws_route" "nat" {
  for_each = length(local.nat_zones) > 0 ? local.zones : {}

  route_table_id         = aws_route_table.private[each.key].id
  destination_cidr_block = "0.0.0.0/0"
  # With a single gateway, the other zones' nodes go through the first zone's.
  nat_gateway_id = try(aws_nat_gateway.this[each.key].id, one([for zone, index in local.nat_zones : aws_nat_gateway.this[zone].id if index == 0]))
}
