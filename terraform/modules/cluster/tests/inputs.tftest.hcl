# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_cluster_with_a_bare_address" {
  command = plan

  variables {
    existing = { name = "a", endpoint = "api.example.com", certificate_authority = "", cluster_security_group_id = "sg-1" }
  }

  expect_failures = [var.existing]
}

run "refuses_a_patch_version" {
  command = plan

  variables {
    kubernetes_version = "1.33.1"
  }

  expect_failures = [var.kubernetes_version]
}

run "refuses_a_subnet_that_is_none" {
  command = plan

  variables {
    subnet_ids = ["vpc-1", "subnet-2"]
  }

  expect_failures = [var.subnet_ids]
}

run "refuses_the_whole_internet" {
  command = plan

  variables {
    public_access_cidrs = ["0.0.0.0/0"]
  }

  expect_failures = [var.public_access_cidrs]
}

run "refuses_half_the_internet" {
  command = plan

  variables {
    public_access_cidrs = ["128.0.0.0/1"]
  }

  expect_failures = [var.public_access_cidrs]
}

run "refuses_an_unknown_right" {
  command = plan

  variables {
    access = { ci = { principal_arn = "arn:aws:iam::123456789012:role/ci", policy = "owner" } }
  }

  expect_failures = [var.access]
}

run "refuses_a_principal_that_is_an_account" {
  command = plan

  variables {
    access = { ci = { principal_arn = "arn:aws:iam::123456789012:root" } }
  }

  expect_failures = [var.access]
}

run "refuses_hybrid_nodes_without_addresses" {
  command = plan

  variables {
    remote_nodes = { node_cidrs = [], pod_cidrs = [] }
  }

  expect_failures = [var.remote_nodes]
}

run "refuses_an_addon_version_of_upstream" {
  command = plan

  variables {
    addons = { coredns = "1.11.4" }
  }

  expect_failures = [var.addons]
}

run "refuses_a_key_without_arn" {
  command = plan

  variables {
    kms_key_arn = "key-1"
  }

  expect_failures = [var.kms_key_arn]
}

run "refuses_a_retention_that_cloudwatch_lacks" {
  command = plan

  variables {
    log_days = 2
  }

  expect_failures = [var.log_days]
}
