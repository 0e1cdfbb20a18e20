# The cheapest thing that works: one small node that always stands, and one spot pool of A100s that stands at zero.

provider "aws" {
  region = var.region
}

module "network" {
  source = "../../modules/network"

  name  = var.name
  site  = var.region
  zones = var.zones
  # One NAT gateway costs less than the seven endpoints that would replace it, and public images work.
  nat                 = "single"
  interface_endpoints = []
  kms_key_arn         = module.cluster.kms_key_arn
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

  name         = var.name
  site         = var.region
  cluster_name = module.cluster.name
  bucket_arn   = module.storage.bucket_arn
  kms_key_arn  = module.storage.kms_key_arn
}

module "system" {
  source = "../../modules/system_pool"

  name               = "system"
  site               = var.region
  cluster_name       = module.cluster.name
  subnet_ids         = module.network.private_subnet_ids
  security_group_ids = [module.cluster.security_group_id]
  node_role_arn      = module.iam.node_role_arn
}

module "a100_spot" {
  source = "../../modules/gpu_node_pool"

  name               = "a100-spot"
  site               = var.region
  cluster_name       = module.cluster.name
  vpc_id             = module.network.vpc_id
  subnet_ids         = [module.network.private_subnets[var.zones[0]]]
  security_group_ids = [module.cluster.security_group_id]
  node_role_arn      = module.iam.node_role_arn
  instance_types     = ["p4d.24xlarge", "p4de.24xlarge"]
  capacity           = "spot"
  max_nodes          = 2
}

module "budget" {
  source = "../../modules/budget"

  name        = var.name
  site        = var.region
  monthly_usd = var.monthly_usd
  emails      = [var.alarm_email]
}
