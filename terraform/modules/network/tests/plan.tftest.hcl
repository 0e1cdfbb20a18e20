# What is planned: private subnets, no NAT unless asked for, nothing where a VPC is given.

mock_provider "aws" {}

run "private_by_default" {
  command = plan

  assert {
    condition     = length(aws_subnet.private) == 2 && length(distinct([for subnet in aws_subnet.private : subnet.cidr_block])) == 2
    error_message = "one private subnet in each zone, with addresses of its own"
  }
  assert {
    condition     = length(aws_nat_gateway.this) == 0 && length(aws_internet_gateway.this) == 0 && length(aws_subnet.public) == 0
    error_message = "no way to the internet unless asked for"
  }
  assert {
    condition     = aws_vpc_endpoint.s3[0].vpc_endpoint_type == "Gateway" && length(aws_vpc_endpoint.interface) == 7
    error_message = "S3 by the free endpoint, seven services by interfaces"
  }
  assert {
    condition     = aws_vpc_security_group_ingress_rule.endpoints[0].cidr_ipv4 == "10.64.0.0/16" && aws_vpc_security_group_ingress_rule.endpoints[0].from_port == 443
    error_message = "endpoints are reached from the VPC, by HTTPS"
  }
  assert {
    condition     = aws_flow_log.this[0].traffic_type == "ALL" && aws_cloudwatch_log_group.flow[0].retention_in_days == 365
    error_message = "flow logs for a year"
  }
}

run "one_nat_gateway_for_all_zones" {
  command = plan

  variables {
    nat                 = "single"
    interface_endpoints = []
  }

  assert {
    condition     = length(aws_nat_gateway.this) == 1 && length(aws_route.nat) == 2
    error_message = "both zones go through the one gateway"
  }
  assert {
    condition     = alltrue([for subnet in aws_subnet.public : !subnet.map_public_ip_on_launch])
    error_message = "no machine gets a public address"
  }
  assert {
    condition     = length(aws_vpc_endpoint.interface) == 0 && length(aws_security_group.endpoints) == 0
    error_message = "no interface endpoints"
  }
}

run "a_nat_gateway_in_each_zone" {
  command = plan

  variables {
    nat = "per-zone"
  }

  assert {
    condition     = length(aws_nat_gateway.this) == 2 && length(aws_eip.nat) == 2
    error_message = "one gateway in each zone"
  }
}

run "nothing_where_a_vpc_is_given" {
  command = plan

  variables {
    existing = { vpc_id = "vpc-1", private_subnets = { us-east-1a = "subnet-1", us-east-1b = "subnet-2" } }
    nat      = "single"
  }

  assert {
    condition     = length(aws_vpc.this) + length(aws_subnet.private) + length(aws_nat_gateway.this) + length(aws_vpc_endpoint.s3) + length(aws_flow_log.this) == 0
    error_message = "an existing VPC stays as it is"
  }
  assert {
    condition     = output.vpc_id == "vpc-1" && output.private_subnet_ids == tolist(["subnet-1", "subnet-2"]) && output.private_subnets["us-east-1b"] == "subnet-2"
    error_message = "what was given is handed on"
  }
}
