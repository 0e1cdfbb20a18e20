# Optional: input data over Lustre. Checkpoints stay on S3.

resource "aws_fsx_lustre_file_system" "this" {
  count = var.lustre == null ? 0 : 1

  deployment_type                 = "PERSISTENT_2"
  storage_type                    = "SSD"
  storage_capacity                = var.lustre.size_gib
  per_unit_storage_throughput     = var.lustre.throughput_per_tib
  subnet_ids                      = [var.lustre.subnet_id]
  security_group_ids              = var.lustre.security_group_ids
  data_compression_type           = "LZ4"
  kms_key_id                      = var.kms_key_arn
  automatic_backup_retention_days = var.lustre.automatic_backup_days
  copy_tags_to_backups            = true
  tags                            = merge(local.tags, { Name = var.name })
}

resource "aws_fsx_data_repository_association" "this" {
  count = var.lustre == null ? 0 : 1

  file_system_id       = aws_fsx_lustre_file_system.this[0].id
  file_system_path     = "/data"
  data_repository_path = "s3://${local.bucket}/${local.prefixes.data}"
  tags                 = local.tags

  s3 {
    auto_import_policy {
      events = ["NEW", "CHANGED", "DELETED"]
    }
  }
}
