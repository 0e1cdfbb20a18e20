# A private EKS cluster: secrets under a key, every control-plane log, access by entries only.

locals {
  make    = var.existing == null
  key_arn = var.kms_key_arn != null ? var.kms_key_arn : one(aws_kms_key.this[*].arn)
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "cluster"
    "headway.dev/managed-by" = "terraform"
  })
}

data "aws_partition" "here" {}

resource "aws_iam_role" "cluster" {
  count = local.make ? 1 : 0

  name = "${var.name}-cluster"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "eks.amazonaws.com" }
    }]
  })
  tags = local.tags
}

resource "aws_iam_role_policy_attachment" "cluster" {
  count = local.make ? 1 : 0

  role       = aws_iam_role.cluster[0].name
  policy_arn = "arn:${data.aws_partition.here.partition}:iam::aws:policy/AmazonEKSClusterPolicy"
}

# Made before the cluster, else EKS makes it, without a key and for ever.
resource "aws_cloudwatch_log_group" "cluster" {
  count = local.make ? 1 : 0

  name              = "/aws/eks/${var.name}/cluster"
  retention_in_days = var.log_days
  kms_key_id        = local.key_arn
  tags              = local.tags
}

resource "aws_eks_cluster" "this" {
  count = local.make ? 1 : 0

  name                      = var.name
  version                   = var.kubernetes_version
  role_arn                  = aws_iam_role.cluster[0].arn
  enabled_cluster_log_types = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
  # The add-ons below are the same ones, with a version that a plan shows.
  bootstrap_self_managed_addons = false

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = false
  }

  encryption_config {
    resources = ["secrets"]
    provider {
      key_arn = local.key_arn
    }
  }

  # EKS upgrades a cluster by itself rather than bill extended support.
  upgrade_policy {
    support_type = "STANDARD"
  }

  vpc_config {
    subnet_ids              = var.subnet_ids
    endpoint_private_access = true
    endpoint_public_access  = length(var.public_access_cidrs) > 0
    public_access_cidrs     = length(var.public_access_cidrs) > 0 ? var.public_access_cidrs : null
  }

  dynamic "remote_network_config" {
    for_each = var.remote_nodes == null ? [] : [var.remote_nodes]
    content {
      remote_node_networks {
        cidrs = remote_network_config.value.node_cidrs
      }
      dynamic "remote_pod_networks" {
        for_each = length(remote_network_config.value.pod_cidrs) > 0 ? [remote_network_config.value.pod_cidrs] : []
        content {
          cidrs = remote_pod_networks.value
        }
      }
    }
  }

  tags       = local.tags
  depends_on = [aws_cloudwatch_log_group.cluster, aws_iam_role_policy_attachment.cluster]

  lifecycle {
    precondition {
      condition     = length(var.subnet_ids) >= 2
      error_message = "subnet_ids: name private subnets of at least two zones, or give an existing cluster."
    }
  }
}

resource "aws_eks_addon" "this" {
  for_each = local.make ? var.addons : {}

  cluster_name                = aws_eks_cluster.this[0].name
  addon_name                  = each.key
  addon_version               = each.value
  resolve_conflicts_on_create = "OVERWRITE"
  resolve_conflicts_on_update = "PRESERVE"
  tags                        = local.tags
}
