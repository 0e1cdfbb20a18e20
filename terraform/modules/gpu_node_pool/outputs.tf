output "name" {
  description = "The pool's name."
  value       = aws_eks_node_group.this.node_group_name
}

output "labels" {
  description = "Labels of the nodes."
  value       = local.labels
}

output "taints" {
  description = "Taints of the nodes, as Kubernetes writes them."
  value       = local.taints
}

output "values" {
  description = "The pool as the chart's values name it."
  value = {
    name        = var.name
    instances   = var.instance_types
    capacity    = var.capacity
    accelerator = local.first.accelerator
    gpusPerNode = local.first.gpus
    efaPerNode  = local.efa_cards
    minNodes    = 0
    maxNodes    = var.max_nodes
    labels      = local.labels
    taints      = local.taints
  }
}

output "site_pool" {
  description = "The pool as sites.yaml names it."
  value = {
    name      = var.name
    instance  = var.instance_types[0]
    capacity  = var.capacity
    max_nodes = var.max_nodes
  }
}
