# Checkpoints and packages go to S3 past any NAT: the gateway endpoint costs nothing.

resource "aws_vpc_endpoint" "s3" {
  count = local.make ? 1 : 0

  vpc_id            = aws_vpc.this[0].id
  service_name      = "com.amazonaws.${data.aws_region.here.name}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [for table in aws_route_table.private : table.id]
  tags              = merge(local.tags, { Name = "${var.name}-s3" })
}

resource "aws_security_group" "endpoints" {
  count = length(local.interfaces) > 0 ? 1 : 0

  name        = "${var.name}-endpoints"
  description = "HTTPS from the VPC to the interface endpoints"
  vpc_id      = aws_vpc.this[0].id
  tags        = merge(local.tags, { Name = "${var.name}-endpoints" })
}

resource "aws_vpc_security_group_ingress_rule" "endpoints" {
  count = length(local.interfaces) > 0 ? 1 : 0

  security_group_id = aws_security_group.endpoints[0].id
  description       = "HTTPS from the VPC"
  cidr_ipv4         = var.cidr
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  tags              = local.tags
}

resource "aws_vpc_endpoint" "interface" {
  for_each = local.interfaces

  vpc_id              = aws_vpc.this[0].id
  service_name        = "com.amazonaws.${data.aws_region.here.name}.${each.key}"
  vpc_endpoint_type   = "Interface"
  private_dns_enabled = true
  subnet_ids          = [for subnet in aws_subnet.private : subnet.id]
  security_group_ids  = [aws_security_group.endpoints[0].id]
  tags                = merge(local.tags, { Name = "${var.name}-${each.key}" })
}
