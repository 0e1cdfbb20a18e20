# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

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

run "refuses_a_node_role_by_name" {
  command = plan

  variables {
    node_role_arn = "node"
  }

  expect_failures = [var.node_role_arn]
}

run "refuses_an_account_with_a_slash" {
  command = plan

  variables {
    service_account = { namespace = "kube-system", name = "a/b" }
  }

  expect_failures = [var.service_account]
}
