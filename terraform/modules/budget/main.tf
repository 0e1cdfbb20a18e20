# An alarm that does not depend on Headway: AWS itself says when the account spends too much.
# It stops nothing, and AWS updates its figures up to three times a day; Headway's own budgets refuse runs.

locals {
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "budget"
    "headway.dev/managed-by" = "terraform"
  })
  alarms = concat(
    [for share in var.actual_percent : { share = share, kind = "ACTUAL" }],
    [{ share = 100, kind = "FORECASTED" }],
  )
}

resource "aws_budgets_budget" "this" {
  name         = var.name
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_unit   = "USD"
  limit_amount = format("%.2f", var.monthly_usd)
  tags         = local.tags

  dynamic "cost_filter" {
    for_each = var.only_this_site ? [var.site] : []
    content {
      name   = "TagKeyValue"
      values = [join("$", ["user:headway.dev/site", cost_filter.value])]
    }
  }

  dynamic "notification" {
    for_each = local.alarms
    content {
      comparison_operator        = "GREATER_THAN"
      threshold                  = notification.value.share
      threshold_type             = "PERCENTAGE"
      notification_type          = notification.value.kind
      subscriber_email_addresses = var.emails
      subscriber_sns_topic_arns  = var.topic_arn == null ? [] : [var.topic_arn]
    }
  }
}
