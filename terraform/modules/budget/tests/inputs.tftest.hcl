# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

run "accepts_the_rest" {
  command = plan
}

run "refuses_nothing_to_spend" {
  command = plan

  variables {
    monthly_usd = 0
  }

  expect_failures = [var.monthly_usd]
}

run "refuses_an_address_without_a_domain" {
  command = plan

  variables {
    emails = ["alarm@here"]
  }

  expect_failures = [var.emails]
}

run "refuses_a_topic_by_name" {
  command = plan

  variables {
    topic_arn = "alarms"
  }

  expect_failures = [var.topic_arn]
}

run "refuses_an_alarm_that_nobody_hears" {
  command = plan

  variables {
    emails = []
  }

  expect_failures = [var.topic_arn]
}

run "refuses_no_share_at_which_to_alarm" {
  command = plan

  variables {
    actual_percent = []
  }

  expect_failures = [var.actual_percent]
}

run "refuses_a_share_of_nothing" {
  command = plan

  variables {
    actual_percent = [0]
  }

  expect_failures = [var.actual_percent]
}
