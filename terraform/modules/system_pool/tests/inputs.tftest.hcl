# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_name_with_capitals" {
  command = plan

  variables {
    name = "System"
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

run "refuses_a_type_with_gpus" {
  command = plan

  variables {
    instance_types = ["g6.xlarge"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_two_architectures" {
  command = plan

  variables {
    instance_types = ["m7i.large", "m7g.large"]
  }

  expect_failures = [var.instance_types]
}

run "refuses_no_node" {
  command = plan

  variables {
    nodes = { min = 0, max = 1 }
  }

  expect_failures = [var.nodes]
}

run "refuses_fewer_at_most_than_at_least" {
  command = plan

  variables {
    nodes = { min = 3, max = 2 }
  }

  expect_failures = [var.nodes]
}

run "refuses_a_disk_too_small" {
  command = plan

  variables {
    volume_gib = 8
  }

  expect_failures = [var.volume_gib]
}
