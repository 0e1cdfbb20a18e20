# What the example refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

variables {
  alarm_email = "alarm@example.com"
  own_servers = { name = "dc1", servers = 4, api_endpoint = "10.0.0.1:6443", ca_cert_hash = "sha256:0000000000000000000000000000000000000000000000000000000000000000" }
}

run "accepts_the_rest" {
  command = plan
}

run "refuses_one_zone" {
  command = plan

  variables {
    zones = ["us-east-1a"]
  }

  expect_failures = [var.zones]
}
