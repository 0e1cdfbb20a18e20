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

run "refuses_a_workspace_by_name" {
  command = plan

  variables {
    existing_workspace_arn = "ws-1"
  }

  expect_failures = [var.existing_workspace_arn]
}

run "refuses_an_account_with_a_slash" {
  command = plan

  variables {
    service_account = { namespace = "a/b", name = "prometheus" }
  }

  expect_failures = [var.service_account]
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
