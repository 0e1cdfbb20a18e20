# One key for the cluster's secrets and its logs.

data "aws_caller_identity" "here" {}

data "aws_region" "here" {}

resource "aws_kms_key" "this" {
  count = local.make && var.kms_key_arn == null ? 1 : 0

  description             = "Secrets and logs of the cluster ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TheAccountOwnsIt"
        Effect    = "Allow"
        Action    = "kms:*"
        Resource  = "*" # in a key's own policy this means the key itself
        Principal = { AWS = "arn:${data.aws_partition.here.partition}:iam::${data.aws_caller_identity.here.account_id}:root" }
      },
      {
        Sid       = "LogsOfThisAccount"
        Effect    = "Allow"
        Action    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
        Resource  = "*"
        Principal = { Service = "logs.${data.aws_region.here.name}.amazonaws.com" }
        Condition = {
          ArnLike = {
            "kms:EncryptionContext:aws:logs:arn" = "arn:${data.aws_partition.here.partition}:logs:${data.aws_region.here.name}:${data.aws_caller_identity.here.account_id}:log-group:*"
          }
        }
      },
    ]
  })
  tags = local.tags
}
