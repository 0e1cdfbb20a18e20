# What is planned: a closed bucket that cleans itself, or nothing where one is given.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

run "closed_versioned_and_cleaned" {
  command = plan

  assert {
    condition     = alltrue([aws_s3_bucket_public_access_block.this[0].block_public_acls, aws_s3_bucket_public_access_block.this[0].block_public_policy, aws_s3_bucket_public_access_block.this[0].ignore_public_acls, aws_s3_bucket_public_access_block.this[0].restrict_public_buckets])
    error_message = "nothing of it is public"
  }
  assert {
    condition     = aws_s3_bucket_versioning.this[0].versioning_configuration[0].status == "Enabled" && !aws_s3_bucket.this[0].force_destroy
    error_message = "a checkpoint that is overwritten can be had back, and no destroy takes them all"
  }
  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this[0].rule).apply_server_side_encryption_by_default[0].sse_algorithm == "AES256"
    error_message = "encrypted with S3's own keys where none is given"
  }
  assert {
    condition     = { for rule in aws_s3_bucket_lifecycle_configuration.this[0].rule : rule.id => try(rule.expiration[0].days, 0) } == { "abandoned-uploads-and-replaced-versions" = 0, "old-packages" = 365, "old-runs" = 90 }
    error_message = "old checkpoints and packages go"
  }
  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.this[0].rule[0].abort_incomplete_multipart_upload[0].days_after_initiation == 1 && aws_s3_bucket_lifecycle_configuration.this[0].rule[0].noncurrent_version_expiration[0].noncurrent_days == 7
    error_message = "abandoned uploads and replaced versions do not bill for ever"
  }
  assert {
    condition     = length(aws_fsx_lustre_file_system.this) == 0 && length(aws_s3_bucket_logging.this) == 0
    error_message = "nothing that bills by size unless asked for"
  }
}

run "checkpoints_for_ever" {
  command = plan

  variables {
    days        = { checkpoints = 0 }
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/a"
    log_bucket  = "access-logs"
  }

  assert {
    condition     = [for rule in aws_s3_bucket_lifecycle_configuration.this[0].rule : rule.id] == ["abandoned-uploads-and-replaced-versions", "old-packages"]
    error_message = "0 days: checkpoints stay"
  }
  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this[0].rule).apply_server_side_encryption_by_default[0].kms_master_key_id == "arn:aws:kms:us-east-1:123456789012:key/a" && one(aws_s3_bucket_server_side_encryption_configuration.this[0].rule).bucket_key_enabled
    error_message = "the given key, asked once for many objects"
  }
  assert {
    condition     = aws_s3_bucket_logging.this[0].target_bucket == "access-logs"
    error_message = "access is logged where asked"
  }
}

run "a_bucket_that_is_there" {
  command = plan

  variables {
    existing_bucket = "their-bucket"
    lustre          = { subnet_id = "subnet-1", security_group_ids = ["sg-1"], size_gib = 2400 }
  }

  assert {
    condition     = length(aws_s3_bucket.this) + length(aws_s3_bucket_policy.this) + length(aws_s3_bucket_lifecycle_configuration.this) + length(aws_s3_bucket_public_access_block.this) == 0
    error_message = "an existing bucket stays as it is"
  }
  assert {
    condition     = output.bucket_arn == "arn:aws:s3:::their-bucket" && output.values.runs == "s3://their-bucket/runs/"
    error_message = "what was given is handed on"
  }
  assert {
    condition     = aws_fsx_lustre_file_system.this[0].storage_capacity == 2400 && aws_fsx_data_repository_association.this[0].data_repository_path == "s3://their-bucket/data/"
    error_message = "Lustre over its data/ prefix"
  }
}
