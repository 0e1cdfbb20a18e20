# What every module that tags what it makes refuses; pytest lays this file into the tests of each.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
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
