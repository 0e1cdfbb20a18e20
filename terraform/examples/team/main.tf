# A team's cluster: what is reserved first, spot for what can be interrupted, on demand for the rest; ledger on RDS.

provider "aws" {
  region = var.region
}

module "network" {
  source = "../../modules/network"

  name        = var.name
  site        = var.region
  existing    = var.existing_vpc
  zones       = var.zones
  nat         = "per-zone"
  kms_key_arn = module.cluster.kms_key_arn
}

module "cluster" {
  source = "../../modules/cluster"

  name       = var.name
  site       = var.region
  subnet_ids = module.network.private_subnet_ids
  access     = var.admin_arn == null ? {} : { admin = { principal_arn = var.admin_arn, policy = "admin" } }
}

module "storage" {
  source = "../../modules/storage"

  name        = var.name
  site        = var.region
  kms_key_arn = module.cluster.kms_key_arn
}

module "iam" {
  source = "../../modules/iam"

  name                = var.name
  site                = var.region
  cluster_name        = module.cluster.name
  bucket_arn          = module.storage.bucket_arn
  kms_key_arn         = module.storage.kms_key_arn
  training_namespaces = ["team-nlp", "team-vision"]
}

module "system" {
  source = "../../modules/system_pool"

  name               = "system"
  site               = var.region
  cluster_name       = module.cluster.name
  subnet_ids         = module.network.private_subnet_ids
  security_group_ids = [module.cluster.security_group_id]
  node_role_arn      = module.iam.node_role_arn
  instance_types     = ["m7i.large"]
  nodes              = { min = 2, max = 4 }
}

module "pool" {
  source   = "../../modules/gpu_node_pool"
  for_each = local.pool_inputs

  name                    = each.key
  site                    = var.region
  cluster_name            = module.cluster.name
  vpc_id                  = module.network.vpc_id
  subnet_ids              = each.value.one_zone ? [module.network.private_subnets[var.zones[0]]] : module.network.private_subnet_ids
  security_group_ids      = [module.cluster.security_group_id]
  node_role_arn           = module.iam.node_role_arn
  instance_types          = each.value.instance_types
  capacity                = each.value.capacity
  capacity_reservation_id = each.value.capacity == "reserved" ? var.reservation_id : null
  max_nodes               = each.value.max_nodes
  efa                     = each.value.one_zone
}

module "observability" {
  source = "../../modules/observability"

  name         = var.name
  site         = var.region
  cluster_name = module.cluster.name
  prometheus   = true
  kms_key_arn  = module.cluster.kms_key_arn
}

module "budget" {
  source = "../../modules/budget"

  name        = var.name
  site        = var.region
  monthly_usd = var.monthly_usd
  emails      = [var.alarm_email]
}
