# Launches only what it tags as this cluster's, ends only what carries that tag.

locals {
  owned = { StringEquals = { "aws:ResourceTag/kubernetes.io/cluster/${var.cluster_name}" = "owned" }, StringLike = { "aws:ResourceTag/karpenter.sh/nodepool" = "*" } }
  marks = { StringEquals = { "aws:RequestTag/kubernetes.io/cluster/${var.cluster_name}" = "owned" }, StringLike = { "aws:RequestTag/karpenter.sh/nodepool" = "*" } }
  made  = ["fleet", "instance", "launch-template", "network-interface", "spot-instances-request", "volume"]
}

resource "aws_iam_role_policy" "controller" {
  name = "karpenter"
  role = aws_iam_role.controller.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Sid = "LaunchFrom", Effect = "Allow", Action = ["ec2:CreateFleet", "ec2:RunInstances"], Resource = concat(["${local.arn}:ec2:${local.region}::image/*", "${local.arn}:ec2:${local.region}::snapshot/*"], [for kind in ["capacity-reservation", "placement-group", "security-group", "subnet"] : "${local.arn}:ec2:${local.region}:${local.account}:${kind}/*"]) },
      { Sid = "LaunchFromOwnTemplates", Effect = "Allow", Action = ["ec2:CreateFleet", "ec2:RunInstances"], Resource = ["${local.arn}:ec2:${local.region}:${local.account}:launch-template/*"], Condition = local.owned },
      { Sid = "LaunchTagged", Effect = "Allow", Action = ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"], Resource = [for kind in local.made : "${local.arn}:ec2:${local.region}:${local.account}:${kind}/*"], Condition = local.marks },
      { Sid = "TagWhatItLaunches", Effect = "Allow", Action = ["ec2:CreateTags"], Resource = [for kind in local.made : "${local.arn}:ec2:${local.region}:${local.account}:${kind}/*"], Condition = merge(local.marks, { StringEquals = merge(local.marks.StringEquals, { "ec2:CreateAction" = ["CreateFleet", "CreateLaunchTemplate", "RunInstances"] }) }) },
      { Sid = "EndItsOwn", Effect = "Allow", Action = ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"], Resource = [for kind in ["instance", "launch-template"] : "${local.arn}:ec2:${local.region}:${local.account}:${kind}/*"], Condition = local.owned },
      { Sid = "NameItsOwn", Effect = "Allow", Action = ["ec2:CreateTags"], Resource = ["${local.arn}:ec2:${local.region}:${local.account}:instance/*"], Condition = merge(local.owned, { "ForAllValues:StringEquals" = { "aws:TagKeys" = ["Name", "karpenter.sh/nodeclaim", "eks:eks-cluster-name"] } }) },
      # These list, and know no narrower resource.
      { Sid = "See", Effect = "Allow", Action = ["ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeLaunchTemplates", "ec2:DescribePlacementGroups", "ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets", "pricing:GetProducts"], Resource = ["*"] },
      { Sid = "Images", Effect = "Allow", Action = ["ssm:GetParameter"], Resource = ["${local.arn}:ssm:${local.region}::parameter/aws/service/*"] },
      { Sid = "Notices", Effect = "Allow", Action = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], Resource = [aws_sqs_queue.notices.arn] },
      { Sid = "HandNodesTheirRole", Effect = "Allow", Action = ["iam:PassRole"], Resource = [var.node_role_arn], Condition = { StringEquals = { "iam:PassedToService" = "ec2.amazonaws.com" } } },
      { Sid = "Profiles", Effect = "Allow", Action = ["iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile", "iam:GetInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:TagInstanceProfile"], Resource = ["${local.arn}:iam::${local.account}:instance-profile/${var.cluster_name}_*"] },
      { Sid = "Cluster", Effect = "Allow", Action = ["eks:DescribeCluster"], Resource = ["${local.arn}:eks:${local.region}:${local.account}:cluster/${var.cluster_name}"] },
    ]
  })
}
