output "site" {
  description = "The site as sites.yaml names it."
  value       = { for key, value in local.entry : key => value if value != null }
}

output "labels" {
  description = "Labels of the servers, by pool."
  value       = local.labels
}

output "taints" {
  description = "Taints of the servers, by pool."
  value       = local.taints
}

output "values" {
  description = "The pools as the chart's values name them."
  value = [for name, nodes in var.pools : {
    name        = name
    instances   = []
    capacity    = "owned"
    accelerator = var.server.accelerator
    gpusPerNode = var.server.gpus
    efaPerNode  = 0
    minNodes    = nodes
    maxNodes    = nodes
    labels      = local.labels[name]
    taints      = local.taints[name]
  }]
}

output "bootstrap" {
  description = "What each pool's servers join with, by pool: kubeadm's or nodeadm's document, its secrets to be filled in on the server."
  value       = var.join.kind == "own-cluster" ? local.kubeadm : local.nodeadm
}
