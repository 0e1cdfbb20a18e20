# One role for each component, with the fewest rights, handed to its service account by EKS Pod Identity.
# The node agent has none: it reads the machine that it runs on, and AWS not at all.

locals {
  made = setsubtract(var.components, keys(var.existing_roles))
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/component"  = "iam"
    "headway.dev/managed-by" = "terraform"
  })
  # The service account that takes each role.
  accounts = merge(
    {
      gateway    = { namespace = var.namespace, name = "headway-gateway", component = "gateway" }
      controller = { namespace = var.namespace, name = "headway-controller", component = "controller" }
      prices     = { namespace = var.namespace, name = "headway-prices", component = "prices" }
      autoscaler = { namespace = "kube-system", name = "cluster-autoscaler", component = "autoscaler" }
      volumes    = { namespace = "kube-system", name = "ebs-csi-controller-sa", component = "volumes" }
    },
    { for namespace in var.training_namespaces : "training-${namespace}" => { namespace = namespace, name = "headway-run", component = "training" } },
  )
  used = { for key, account in local.accounts : key => account if contains(var.components, account.component) }
  arns = merge({ for name in local.made : name => aws_iam_role.component[name].arn }, var.existing_roles)
}

data "aws_partition" "here" {}

data "aws_region" "here" {}

data "aws_caller_identity" "here" {}

resource "aws_iam_role" "component" {
  for_each = local.made

  name = "${var.name}-${each.key}"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = ["sts:AssumeRole", "sts:TagSession"]
      Principal = { Service = "pods.eks.amazonaws.com" }
      # EKS says for whom it asks; another cluster, namespace or account gets nothing.
      Condition = {
        StringEquals = {
          "aws:RequestTag/eks-cluster-name"           = var.cluster_name
          "aws:RequestTag/kubernetes-namespace"       = distinct([for account in values(local.used) : account.namespace if account.component == each.key])
          "aws:RequestTag/kubernetes-service-account" = distinct([for account in values(local.used) : account.name if account.component == each.key])
        }
      }
    }]
  })
  tags = merge(local.tags, { "headway.dev/component" = each.key })
}

resource "aws_eks_pod_identity_association" "this" {
  for_each = local.used

  cluster_name    = var.cluster_name
  namespace       = each.value.namespace
  service_account = each.value.name
  role_arn        = local.arns[each.value.component]
  tags            = merge(local.tags, { "headway.dev/component" = each.value.component })
}

resource "aws_iam_role_policy" "component" {
  for_each = setsubtract(local.made, ["volumes"])

  name   = "headway-${each.key}"
  role   = aws_iam_role.component[each.key].id
  policy = jsonencode({ Version = "2012-10-17", Statement = concat(local.statements[each.key], local.key_statements[each.key]) })
}

resource "aws_iam_role_policy_attachment" "volumes" {
  count = contains(local.made, "volumes") ? 1 : 0

  role       = aws_iam_role.component["volumes"].name
  policy_arn = "arn:${data.aws_partition.here.partition}:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
}
