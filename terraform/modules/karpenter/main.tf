# For clusters whose GPU nodes Karpenter adds: its role, and the queue through which AWS says that a node will go.

locals {
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "karpenter"
    "headway.dev/managed-by" = "terraform"
  })
  account = data.aws_caller_identity.here.account_id
  region  = data.aws_region.here.name
  arn     = "arn:${data.aws_partition.here.partition}"
}

data "aws_partition" "here" {}

data "aws_region" "here" {}

data "aws_caller_identity" "here" {}

resource "aws_iam_role" "controller" {
  name = "${var.name}-karpenter"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = ["sts:AssumeRole", "sts:TagSession"]
      Principal = { Service = "pods.eks.amazonaws.com" }
      Condition = {
        StringEquals = {
          "aws:RequestTag/eks-cluster-name"           = var.cluster_name
          "aws:RequestTag/kubernetes-namespace"       = var.service_account.namespace
          "aws:RequestTag/kubernetes-service-account" = var.service_account.name
        }
      }
    }]
  })
  tags = local.tags
}

resource "aws_eks_pod_identity_association" "controller" {
  cluster_name    = var.cluster_name
  namespace       = var.service_account.namespace
  service_account = var.service_account.name
  role_arn        = aws_iam_role.controller.arn
  tags            = local.tags
}

resource "aws_eks_access_entry" "nodes" {
  count = var.node_access_entry ? 1 : 0

  cluster_name  = var.cluster_name
  principal_arn = var.node_role_arn
  type          = "EC2_LINUX"
  tags          = local.tags
}
