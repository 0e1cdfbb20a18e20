# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_cluster_name_with_a_dot" {
  command = plan

  variables {
    cluster_name = "a.b"
  }

  expect_failures = [var.cluster_name]
}

run "refuses_a_bucket_by_name" {
  command = plan

  variables {
    bucket_arn = "headway-bucket"
  }

  expect_failures = [var.bucket_arn]
}

run "refuses_a_key_without_arn" {
  command = plan

  variables {
    kms_key_arn = "key-1"
  }

  expect_failures = [var.kms_key_arn]
}

run "refuses_data_of_every_bucket" {
  command = plan

  variables {
    data_bucket_arns = ["arn:aws:s3:::*"]
  }

  expect_failures = [var.data_bucket_arns]
}

run "refuses_a_namespace_with_capitals" {
  command = plan

  variables {
    namespace = "Headway"
  }

  expect_failures = [var.namespace]
}

run "refuses_a_namespace_twice" {
  command = plan

  variables {
    training_namespaces = ["a", "a"]
  }

  expect_failures = [var.training_namespaces]
}

run "refuses_a_training_namespace_with_a_slash" {
  command = plan

  variables {
    training_namespaces = ["a/b"]
  }

  expect_failures = [var.training_namespaces]
}

run "refuses_an_unknown_component" {
  command = plan

  variables {
    components = ["gatway"]
  }

  expect_failures = [var.components]
}

run "refuses_a_role_of_an_unknown_component" {
  command = plan

  variables {
    existing_roles = { agent = "arn:aws:iam::123456789012:role/agent" }
  }

  expect_failures = [var.existing_roles]
}

run "refuses_a_role_by_name" {
  command = plan

  variables {
    existing_roles = { gateway = "gateway" }
  }

  expect_failures = [var.existing_roles]
}

run "refuses_a_node_role_by_name" {
  command = plan

  variables {
    existing_node_role_arn = "node"
  }

  expect_failures = [var.existing_node_role_arn]
}
