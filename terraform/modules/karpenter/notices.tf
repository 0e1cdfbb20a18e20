# AWS's notices: spot interruption, rebalance, health, state changes, and capacity blocks that end.

locals {
  notices = {
    health      = { source = "aws.health", type = "AWS Health Event" }
    spot        = { source = "aws.ec2", type = "EC2 Spot Instance Interruption Warning" }
    rebalance   = { source = "aws.ec2", type = "EC2 Instance Rebalance Recommendation" }
    state       = { source = "aws.ec2", type = "EC2 Instance State-change Notification" }
    reservation = { source = "aws.ec2", type = "EC2 Capacity Reservation Instance Interruption Warning" }
  }
}

resource "aws_sqs_queue" "notices" {
  name                      = "${var.name}-karpenter"
  message_retention_seconds = 300 # a notice older than that is of a node that is gone
  sqs_managed_sse_enabled   = true
  tags                      = local.tags
}

resource "aws_sqs_queue_policy" "notices" {
  queue_url = aws_sqs_queue.notices.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "EventsOfTheseRules"
        Effect    = "Allow"
        Action    = "sqs:SendMessage"
        Principal = { Service = "events.amazonaws.com" }
        Resource  = aws_sqs_queue.notices.arn
        Condition = { ArnEquals = { "aws:SourceArn" = [for rule in aws_cloudwatch_event_rule.notices : rule.arn] } }
      },
      {
        Sid       = "OnlyTls"
        Effect    = "Deny"
        Action    = "sqs:*"
        Principal = "*"
        Resource  = aws_sqs_queue.notices.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_cloudwatch_event_rule" "notices" {
  for_each = local.notices

  name        = "${var.name}-karpenter-${each.key}"
  description = each.value.type
  event_pattern = jsonencode({
    source      = [each.value.source]
    detail-type = [each.value.type]
  })
  tags = local.tags
}

resource "aws_cloudwatch_event_target" "notices" {
  for_each = local.notices

  rule      = aws_cloudwatch_event_rule.notices[each.key].name
  target_id = "karpenter"
  arn       = aws_sqs_queue.notices.arn
}
