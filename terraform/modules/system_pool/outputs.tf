output "name" {
  description = "The pool's name."
  value       = aws_eks_node_group.this.node_group_name
}

output "labels" {
  description = "Labels of the nodes."
  value       = local.labels
}

output "values" {
  description = "The pool as the chart's values name it."
  value = {
    name      = var.name
    instances = var.instance_types
    capacity  = "on-demand"
    minNodes  = var.nodes.min
    maxNodes  = var.nodes.max
    labels    = local.labels
  }
}
