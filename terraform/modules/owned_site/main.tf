# Owned servers as a site like any other. Nothing is made: the outputs are what sites.yaml, the chart and the servers read.

locals {
  amount = { for name, value in { price = var.server.price, tariff = var.power.tariff, colo = var.monthly.colo, staff = var.monthly.staff } : name => value == null ? null : "${value} ${var.currency}" }

  entry = {
    name            = var.name
    kind            = "owned"
    location        = var.location
    currency        = var.currency
    server          = { price = local.amount.price, cores = var.server.cores, gpus = var.server.gpus, accelerator = var.server.accelerator, memory = "${var.server.memory_gib} GiB" }
    life_years      = var.finance.life_years
    residual        = var.finance.residual
    cost_of_capital = var.finance.cost_of_capital
    utilisation     = var.finance.utilisation
    power_watts     = var.power.watts
    pue             = var.power.pue
    tariff          = local.amount.tariff
    colo            = local.amount.colo
    staff           = local.amount.staff
    sensitivities   = var.sensitivities
    pools           = [for name, nodes in var.pools : { name = name, max_nodes = nodes }]
  }

  labels = { for name in keys(var.pools) : name => {
    "headway.dev/pool"        = name
    "headway.dev/site"        = var.name
    "headway.dev/capacity"    = "owned"
    "headway.dev/accelerator" = var.server.accelerator
  } }
  taints = { for name in keys(var.pools) : name => [{ key = "headway.dev/pool", value = name, effect = "NoSchedule" }] }

  node_labels = { for name, labels in local.labels : name => join(",", [for key, value in labels : "${key}=${value}"]) }
  node_taints = { for name, taints in local.taints : name => join(",", [for taint in taints : "${taint.key}=${taint.value}:${taint.effect}"]) }

  # Secrets are filled in on the server (envsubst): none of them may stand in Terraform's state.
  kubeadm = { for name in keys(var.pools) : name => yamlencode({
    apiVersion = "kubeadm.k8s.io/v1beta4"
    kind       = "JoinConfiguration"
    discovery = {
      bootstrapToken = {
        apiServerEndpoint = var.join.api_endpoint
        token             = "$${JOIN_TOKEN}"
        caCertHashes      = [var.join.ca_cert_hash]
      }
    }
    nodeRegistration = {
      kubeletExtraArgs = [{ name = "node-labels", value = local.node_labels[name] }]
      taints           = local.taints[name]
    }
  }) }
  nodeadm = { for name in keys(var.pools) : name => yamlencode({
    apiVersion = "node.eks.aws/v1alpha1"
    kind       = "NodeConfig"
    spec = {
      cluster = { name = var.join.cluster_name, region = var.join.region }
      kubelet = { flags = ["--node-labels=${local.node_labels[name]}", "--register-with-taints=${local.node_taints[name]}"] }
      hybrid  = { ssm = { activationCode = "$${ACTIVATION_CODE}", activationId = "$${ACTIVATION_ID}" } }
    }
  }) }
}
