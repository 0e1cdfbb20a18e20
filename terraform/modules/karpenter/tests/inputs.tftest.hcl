# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

variables {
  name          = "headway"
  site          = "us-east-1"
  cluster_name  = "headway"
  node_role_arn = "arn:aws:iam::123456789012:role/node"
}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_name_with_capitals" {
  command = plan

  variables {
    name = "Headway"
  }

  expect_failures = [var.name]
}

run "refuses_the_site_that_is_always_there" {
  command = plan

  variables {
    site = "here"
  }

  expect_failures = [var.site]
}

run "refuses_a_team_with_a_blank" {
  command = plan

  variables {
    team = "two words"
  }

  expect_failures = [var.team]
}

run "refuses_a_tag_of_the_modules_own" {
  command = plan

  variables {
    tags = { "headway.dev/pool" = "mine" }
  }

  expect_failures = [var.tags]
}

run "refuses_a_tag_of_aws" {
  command = plan

  variables {
    tags = { "AWS:owner" = "me" }
  }

  expect_failures = [var.tags]
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
