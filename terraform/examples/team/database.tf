# The ledger's PostgreSQL: one zone, restored from backups; gateway and controller wait while it is away.

resource "aws_db_subnet_group" "ledger" {
  name       = "${var.name}-ledger"
  subnet_ids = module.network.private_subnet_ids
  tags       = local.database_tags
}

resource "aws_security_group" "ledger" {
  name        = "${var.name}-ledger"
  description = "PostgreSQL from the cluster's nodes"
  vpc_id      = module.network.vpc_id
  tags        = merge(local.database_tags, { Name = "${var.name}-ledger" })
}

resource "aws_vpc_security_group_ingress_rule" "ledger" {
  security_group_id            = aws_security_group.ledger.id
  referenced_security_group_id = module.cluster.security_group_id
  description                  = "PostgreSQL from the cluster's nodes"
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
  tags                         = local.database_tags
}

resource "aws_db_parameter_group" "ledger" {
  name_prefix = "${var.name}-ledger-"
  family      = "postgres16"
  description = "TLS only, and what is done is logged"
  tags        = local.database_tags

  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }
  parameter {
    name  = "log_statement"
    value = "ddl"
  }
  parameter {
    name  = "log_min_duration_statement"
    value = "1000"
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_db_instance" "ledger" {
  identifier                          = "${var.name}-ledger"
  engine                              = "postgres"
  engine_version                      = "16"
  instance_class                      = "db.t3.large"
  allocated_storage                   = 50
  storage_type                        = "gp3"
  storage_encrypted                   = true
  kms_key_id                          = module.cluster.kms_key_arn
  db_name                             = "headway"
  username                            = "headway"
  manage_master_user_password         = true # in Secrets Manager, never in the state
  iam_database_authentication_enabled = true
  db_subnet_group_name                = aws_db_subnet_group.ledger.name
  parameter_group_name                = aws_db_parameter_group.ledger.name
  vpc_security_group_ids              = [aws_security_group.ledger.id]
  publicly_accessible                 = false
  multi_az                            = var.database_multi_az
  backup_retention_period             = 14
  copy_tags_to_snapshot               = true
  deletion_protection                 = true
  auto_minor_version_upgrade          = true
  final_snapshot_identifier           = "${var.name}-ledger-final"
  enabled_cloudwatch_logs_exports     = ["postgresql", "upgrade"]
  performance_insights_enabled        = true
  performance_insights_kms_key_id     = module.cluster.kms_key_arn
  tags                                = local.database_tags
}

locals {
  database_tags = {
    "headway.dev/site"       = var.region
    "headway.dev/team"       = "platform"
    "headway.dev/component"  = "ledger"
    "headway.dev/managed-by" = "terraform"
  }
  database = {
    host      = aws_db_instance.ledger.address
    port      = aws_db_instance.ledger.port
    name      = aws_db_instance.ledger.db_name
    username  = aws_db_instance.ledger.username
    secretArn = one(aws_db_instance.ledger.master_user_secret[*].secret_arn)
  }
}
