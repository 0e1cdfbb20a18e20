# Owned servers first, a spot pool in the cloud for what does not fit: one product, two sites.

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

# Figures of one server as bought: put your own quote, tariff and PUE here.
module "own" {
  source = "../../modules/owned_site"

  name     = var.own_servers.name
  location = "USA"
  server   = { price = 110000, cores = 128, gpus = 8, accelerator = "l40s", memory_gib = 1024 }
  finance  = { life_years = 5, residual = 0.1, cost_of_capital = 0.08 }
  power    = { watts = 3800, pue = 1.4, tariff = 0.146 }
  pools    = { l40s = var.own_servers.servers }
  join = {
    kind         = "own-cluster"
    api_endpoint = var.own_servers.api_endpoint
    ca_cert_hash = var.own_servers.ca_cert_hash
  }
}
