output "node_role_arn" {
  description = "The nodes' role."
  value       = var.existing_node_role_arn != null ? var.existing_node_role_arn : aws_iam_role.node[0].arn

  # A node that starts before its role may join stays out of the cluster.
  depends_on = [aws_iam_role_policy_attachment.node]
}

output "role_arns" {
  description = "The role of each component."
  value       = { for name in var.components : name => local.arns[name] }
}

output "values" {
  description = "Service accounts as the chart's values name them: the roles are bound to them by name."
  value = {
    for key, account in local.used : key => {
      namespace = account.namespace
      name      = account.name
      roleArn   = local.arns[account.component]
    }
  }
}
