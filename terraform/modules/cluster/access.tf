# No principal has access because it made the cluster: each is named.

locals {
  policies = {
    admin = "AmazonEKSClusterAdminPolicy"
    edit  = "AmazonEKSEditPolicy"
    view  = "AmazonEKSViewPolicy"
  }
  access = local.make ? var.access : {}
}

resource "aws_eks_access_entry" "this" {
  for_each = local.access

  cluster_name  = aws_eks_cluster.this[0].name
  principal_arn = each.value.principal_arn
  type          = "STANDARD"
  tags          = local.tags
}

resource "aws_eks_access_policy_association" "this" {
  for_each = local.access

  cluster_name  = aws_eks_cluster.this[0].name
  principal_arn = aws_eks_access_entry.this[each.key].principal_arn
  policy_arn    = "arn:${data.aws_partition.here.partition}:eks::aws:cluster-access-policy/${local.policies[each.value.policy]}"

  access_scope {
    type       = length(each.value.namespaces) > 0 ? "namespace" : "cluster"
    namespaces = each.value.namespaces
  }
}
