# A place for metrics that outlives the cluster. Off unless asked for: it bills by what is written.

locals {
  make      = var.prometheus && var.existing_workspace_arn == null
  workspace = local.make ? aws_prometheus_workspace.this[0].arn : var.existing_workspace_arn
  # Known when planning, unlike the ARN of a workspace that is yet to be made.
  writes = var.prometheus || var.existing_workspace_arn != null
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "observability"
    "headway.dev/managed-by" = "terraform"
  })
}

resource "aws_cloudwatch_log_group" "this" {
  count = local.make ? 1 : 0

  name              = "/headway/${var.name}/prometheus"
  retention_in_days = var.log_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_prometheus_workspace" "this" {
  count = local.make ? 1 : 0

  alias       = var.name
  kms_key_arn = var.kms_key_arn
  tags        = local.tags

  logging_configuration {
    log_group_arn = "${aws_cloudwatch_log_group.this[0].arn}:*"
  }
}

resource "aws_iam_role" "writer" {
  count = local.writes ? 1 : 0

  name = "${var.name}-prometheus"
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

resource "aws_iam_role_policy" "writer" {
  count = local.writes ? 1 : 0

  name = "write"
  role = aws_iam_role.writer[0].id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["aps:RemoteWrite"]
      Resource = [local.workspace]
    }]
  })
}

resource "aws_eks_pod_identity_association" "writer" {
  count = local.writes ? 1 : 0

  cluster_name    = var.cluster_name
  namespace       = var.service_account.namespace
  service_account = var.service_account.name
  role_arn        = aws_iam_role.writer[0].arn
  tags            = local.tags
}
