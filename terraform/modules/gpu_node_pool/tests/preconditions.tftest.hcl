# What only the whole module can refuse.

mock_provider "aws" {}

run "refuses_a_fabric_over_two_zones" {
  command = plan

  variables {
    subnet_ids = ["subnet-1", "subnet-2"]
  }

  expect_failures = [aws_eks_node_group.this]
}

run "refuses_a_fabric_without_a_vpc" {
  command = plan

  variables {
    vpc_id = null
  }

  expect_failures = [aws_eks_node_group.this]
}

run "refuses_a_fabric_on_types_without_it" {
  command = plan

  variables {
    instance_types = ["g6.xlarge"]
    efa            = true
  }

  expect_failures = [aws_eks_node_group.this]
}

run "refuses_a_reservation_of_two_types" {
  command = plan

  variables {
    instance_types          = ["p4d.24xlarge", "p4de.24xlarge"]
    capacity                = "reserved"
    capacity_reservation_id = "cr-0a1b2c3d"
  }

  expect_failures = [aws_eks_node_group.this]
}
