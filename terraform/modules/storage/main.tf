# The bucket of packages, logs and checkpoints: versioned, encrypted, closed, and cleaned of what nobody reads.

locals {
  make     = var.existing_bucket == null
  bucket   = local.make ? aws_s3_bucket.this[0].bucket : var.existing_bucket
  prefixes = { packages = "packages/", logs = "logs/", runs = "runs/", data = "data/" }
  expire = {
    for name, days in { runs = var.days.checkpoints, packages = var.days.packages } : name => days if days > 0
  }
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "storage"
    "headway.dev/managed-by" = "terraform"
  })
}

data "aws_partition" "here" {}

resource "aws_s3_bucket" "this" {
  count = local.make ? 1 : 0

  bucket        = var.bucket_name
  bucket_prefix = var.bucket_name == null ? "${var.name}-" : null
  force_destroy = var.force_destroy
  tags          = local.tags
}

resource "aws_s3_bucket_ownership_controls" "this" {
  count = local.make ? 1 : 0

  bucket = aws_s3_bucket.this[0].id
  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  count = local.make ? 1 : 0

  bucket                  = aws_s3_bucket.this[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_versioning" "this" {
  count = local.make ? 1 : 0

  bucket = aws_s3_bucket.this[0].id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  count = local.make ? 1 : 0

  bucket = aws_s3_bucket.this[0].id
  rule {
    bucket_key_enabled = var.kms_key_arn != null
    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_logging" "this" {
  count = local.make && var.log_bucket != null ? 1 : 0

  bucket        = aws_s3_bucket.this[0].id
  target_bucket = var.log_bucket
  target_prefix = "${aws_s3_bucket.this[0].bucket}/"
}

resource "aws_s3_bucket_policy" "this" {
  count = local.make ? 1 : 0

  bucket = aws_s3_bucket.this[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "OnlyTls"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = [aws_s3_bucket.this[0].arn, "${aws_s3_bucket.this[0].arn}/*"]
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        Sid       = "NoOldTls"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = [aws_s3_bucket.this[0].arn, "${aws_s3_bucket.this[0].arn}/*"]
        Condition = { NumericLessThan = { "s3:TlsVersion" = "1.2" } }
      },
    ]
  })

  depends_on = [aws_s3_bucket_public_access_block.this]
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count = local.make ? 1 : 0

  bucket = aws_s3_bucket.this[0].id

  # Parts of a multipart upload that a killed worker began are billed, and listed nowhere.
  rule {
    id     = "abandoned-uploads-and-replaced-versions"
    status = "Enabled"
    filter {}
    abort_incomplete_multipart_upload {
      days_after_initiation = var.days.uploads
    }
    noncurrent_version_expiration {
      noncurrent_days = var.days.replaced
    }
  }

  dynamic "rule" {
    for_each = local.expire
    content {
      id     = "old-${rule.key}"
      status = "Enabled"
      filter {
        prefix = local.prefixes[rule.key]
      }
      expiration {
        days = rule.value
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}
