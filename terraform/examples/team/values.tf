# What the chart and sites.yaml are told: the same pools, from the same modules.

locals {
  # Machines that work on one run across nodes stand in one zone, joined by EFA.
  pool_inputs = {
    l4-od         = { instance_types = ["g6.12xlarge"], capacity = "on-demand", max_nodes = 4, one_zone = false }
    h100-spot     = { instance_types = ["p5.48xlarge"], capacity = "spot", max_nodes = 2, one_zone = true }
    a100-reserved = { instance_types = ["p4d.24xlarge"], capacity = "reserved", max_nodes = 2, one_zone = true }
  }
  order = ["l4-od", "h100-spot", "a100-reserved"]
  pools = [for name in local.order : module.pool[name].values]
  sites = [{
    name   = var.region
    kind   = "aws"
    region = var.region
    pools  = [for name in local.order : module.pool[name].site_pool]
  }]
  values = {
    site            = var.region
    region          = var.region
    cluster         = { name = module.cluster.name }
    systemPool      = module.system.values
    pools           = local.pools
    storage         = module.storage.values
    serviceAccounts = module.iam.values
    metrics         = module.observability.values
    database        = local.database
  }
}
