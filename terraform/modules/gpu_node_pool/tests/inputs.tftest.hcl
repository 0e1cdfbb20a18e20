# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_name_with_capitals" {
  command = plan

  variables {
    name = "A100"
  }

  expect_failures = [var.name]
}

run "refuses_a_cluster_name_with_a_dot" {
  command = plan

  variables {
    cluster_name = "a.b"
  }

  expect_failures = [var.cluster_name]
}

run "refuses_no_subnet" {
  command = plan

  variables {
    subnet_ids = []
  }

  expect_failures = [var.subnet_ids]
}

run "refuses_a_subnet_that_is_none" {
  command = plan

  variables {
    subnet_ids = ["vpc-1"]
  }

  expect_failures = [var.subnet_ids]
}

run "refuses_no_group" {
  command = plan

  variables {
    security_group_ids = []
  }

  expect_failures = [var.security_group_ids]
}

run "refuses_a_user_as_the_nodes_role" {
  command = plan

  variables {
    node_role_arn = "arn:aws:iam::123456789012:user/node"
  }

  expect_failures = [var.node_role_arn]
}

run "refuses_a_volume_key_without_arn" {
  command = plan

  variables {
    volume_kms_key_arn = "key-1"
  }

  expect_failures = [var.volume_kms_key_arn]
}

run "refuses_a_vpc_that_is_a_subnet" {
  command = plan

  variables {
    vpc_id = "subnet-1"
  }

  expect_failures = [var.vpc_id]
}

run "refuses_no_type" {
  command = plan

  variables {
    instance_types = []
  }

  expect_failures = [var.instance_types]
}

run "refuses_too_many_types" {
  command = plan

  variables {
    instance_types = [for number in range(21) : "p4d.24xlarge"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_a_type_without_gpus" {
  command = plan

  variables {
    instance_types = ["m7i.large"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_types_of_different_gpus" {
  command = plan

  variables {
    instance_types = ["p4d.24xlarge", "p5.48xlarge"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_types_with_more_gpus" {
  command = plan

  variables {
    instance_types = ["g6.xlarge", "g6.12xlarge"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_the_larger_memory_first" {
  command = plan

  variables {
    instance_types = ["p4de.24xlarge", "p4d.24xlarge"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_an_unknown_capacity" {
  command = plan

  variables {
    capacity = "cheap"
  }

  expect_failures = [var.capacity]
}

run "refuses_a_reservation_without_its_prefix" {
  command = plan

  variables {
    capacity                = "reserved"
    capacity_reservation_id = "123"
  }

  expect_failures = [var.capacity_reservation_id]
}

run "refuses_a_reserved_pool_without_a_reservation" {
  command = plan

  variables {
    capacity = "reserved"
  }

  expect_failures = [var.capacity_reservation_id]
}

run "refuses_a_reservation_for_spot" {
  command = plan

  variables {
    capacity_reservation_id = "cr-0a1"
  }

  expect_failures = [var.capacity_reservation_id]
}

run "refuses_a_pool_that_can_hold_nothing" {
  command = plan

  variables {
    max_nodes = 0
  }

  expect_failures = [var.max_nodes]
}

run "refuses_half_a_node" {
  command = plan

  variables {
    max_nodes = 1.5
  }

  expect_failures = [var.max_nodes]
}

run "refuses_more_throughput_than_operations_carry" {
  command = plan

  variables {
    volume = { throughput = 1000 }
  }

  expect_failures = [var.volume]
}

run "refuses_a_disk_too_small_for_images" {
  command = plan

  variables {
    volume = { gib = 20 }
  }

  expect_failures = [var.volume]
}
