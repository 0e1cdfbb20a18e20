# What is planned: an alarm by amount and by forecast, of the account or of the site.

mock_provider "aws" {}

run "of_the_account" {
  command = plan

  assert {
    condition     = aws_budgets_budget.this.limit_amount == "1000.00" && aws_budgets_budget.this.limit_unit == "USD" && aws_budgets_budget.this.time_unit == "MONTHLY"
    error_message = "so much a month"
  }
  assert {
    condition     = toset([for alarm in aws_budgets_budget.this.notification : "${alarm.notification_type} ${alarm.threshold}"]) == toset(["ACTUAL 50", "ACTUAL 80", "ACTUAL 100", "FORECASTED 100"])
    error_message = "before the money is gone, and when it will be"
  }
  assert {
    condition     = length(aws_budgets_budget.this.cost_filter) == 0
    error_message = "the whole account"
  }
}

run "of_one_site_to_a_topic" {
  command = plan

  variables {
    emails         = []
    topic_arn      = "arn:aws:sns:us-east-1:123456789012:alarms"
    only_this_site = true
  }

  assert {
    condition     = one(aws_budgets_budget.this.cost_filter).values == tolist(["user:headway.dev/site$us-east-1"])
    error_message = "only what carries the site's tag"
  }
  assert {
    condition     = alltrue([for alarm in aws_budgets_budget.this.notification : contains(alarm.subscriber_sns_topic_arns, "arn:aws:sns:us-east-1:123456789012:alarms")])
    error_message = "every alarm goes to the topic"
  }
}
