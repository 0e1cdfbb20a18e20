# What the chart and sites.yaml are told: the same pools, from the same modules.

locals {
  pools = [module.a100_spot.values]
  sites = [{
    name   = var.region
    kind   = "aws"
    region = var.region
    pools  = [module.a100_spot.site_pool]
  }]
  values = {
    site            = var.region
    region          = var.region
    cluster         = { name = module.cluster.name }
    systemPool      = module.system.values
    pools           = local.pools
    storage         = module.storage.values
    serviceAccounts = module.iam.values
  }
}
