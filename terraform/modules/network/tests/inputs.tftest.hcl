# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_vpc_with_one_subnet" {
  command = plan

  variables {
    existing = { vpc_id = "vpc-1", private_subnets = { us-east-1a = "subnet-1" } }
  }

  expect_failures = [var.existing]
}

run "refuses_a_range_too_small" {
  command = plan

  variables {
    cidr = "10.0.0.0/24"
  }

  expect_failures = [var.cidr]
}

run "refuses_a_range_that_is_none" {
  command = plan

  variables {
    cidr = "10.0.0/16"
  }

  expect_failures = [var.cidr]
}

run "refuses_one_zone_twice" {
  command = plan

  variables {
    zones = ["us-east-1a", "us-east-1a"]
  }

  expect_failures = [var.zones]
}

run "refuses_a_zone_that_is_a_region" {
  command = plan

  variables {
    zones = ["us-east-1", "us-east-1b"]
  }

  expect_failures = [var.zones]
}

run "refuses_an_unknown_nat" {
  command = plan

  variables {
    nat = "some"
  }

  expect_failures = [var.nat]
}

run "refuses_an_unknown_endpoint" {
  command = plan

  variables {
    interface_endpoints = ["s3"]
  }

  expect_failures = [var.interface_endpoints]
}

run "refuses_a_retention_that_cloudwatch_lacks" {
  command = plan

  variables {
    flow_log_days = 2
  }

  expect_failures = [var.flow_log_days]
}

run "refuses_a_key_without_arn" {
  command = plan

  variables {
    kms_key_arn = "key-1"
  }

  expect_failures = [var.kms_key_arn]
}
