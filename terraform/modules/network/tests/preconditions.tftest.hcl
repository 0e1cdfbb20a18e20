# What only the whole module can refuse.

mock_provider "aws" {}

run "refuses_a_vpc_in_one_zone" {
  command = plan

  variables {
    zones = ["us-east-1a"]
  }

  expect_failures = [aws_vpc.this]
}
