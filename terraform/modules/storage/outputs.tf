output "bucket" {
  description = "Name of the bucket."
  value       = local.bucket
}

output "bucket_arn" {
  description = "ARN of the bucket."
  value       = local.make ? aws_s3_bucket.this[0].arn : "arn:${data.aws_partition.here.partition}:s3:::${var.existing_bucket}"
}

output "kms_key_arn" {
  description = "The key of the objects; null: S3's own."
  value       = var.kms_key_arn
}

output "lustre" {
  description = "The Lustre file system: id, DNS name and mount name; null: none."
  value = var.lustre == null ? null : {
    id         = aws_fsx_lustre_file_system.this[0].id
    dns_name   = aws_fsx_lustre_file_system.this[0].dns_name
    mount_name = aws_fsx_lustre_file_system.this[0].mount_name
  }
}

output "values" {
  description = "The bucket as the chart's values name it."
  value = {
    bucket    = local.bucket
    packages  = "s3://${local.bucket}/${local.prefixes.packages}"
    logs      = "s3://${local.bucket}/${local.prefixes.logs}"
    runs      = "s3://${local.bucket}/${local.prefixes.runs}"
    kmsKeyArn = var.kms_key_arn
  }
}
