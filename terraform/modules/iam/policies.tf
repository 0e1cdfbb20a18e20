# What each component may do, and nothing else.

locals {
  bucket = var.bucket_arn
  # Filled in by AWS when a pod asks: the namespace that the pod runs in.
  own      = "runs/$${aws:PrincipalTag/kubernetes-namespace}"
  regional = "arn:${data.aws_partition.here.partition}:%s:${data.aws_region.here.name}:${data.aws_caller_identity.here.account_id}:%s"

  statements = {
    gateway = [
      { Sid = "PackagesAndLogs", Effect = "Allow", Action = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"], Resource = ["${local.bucket}/packages/*", "${local.bucket}/logs/*"] },
      { Sid = "ManifestsOfRuns", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${local.bucket}/runs/*"] },
      { Sid = "List", Effect = "Allow", Action = ["s3:ListBucket"], Resource = [local.bucket] },
    ]
    controller = [
      { Sid = "LogsAndManifests", Effect = "Allow", Action = ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"], Resource = ["${local.bucket}/logs/*", "${local.bucket}/runs/*"] },
      { Sid = "List", Effect = "Allow", Action = ["s3:ListBucket"], Resource = [local.bucket] },
      { Sid = "PoolsOfThisCluster", Effect = "Allow", Action = ["eks:DescribeNodegroup", "eks:ListNodegroups"], Resource = [format(local.regional, "eks", "cluster/${var.cluster_name}"), format(local.regional, "eks", "nodegroup/${var.cluster_name}/*")] },
    ]
    training = concat(
      [
        { Sid = "OwnPrefix", Effect = "Allow", Action = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"], Resource = ["${local.bucket}/${local.own}/*"] },
        { Sid = "ReadPackages", Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${local.bucket}/packages/*", "${local.bucket}/data/*"] },
        { Sid = "ListOwnPrefix", Effect = "Allow", Action = ["s3:ListBucket"], Resource = [local.bucket], Condition = { StringLike = { "s3:prefix" = ["${local.own}/*", "data/*"] } } },
      ],
      length(var.data_bucket_arns) == 0 ? [] : [
        { Sid = "ReadData", Effect = "Allow", Action = ["s3:GetObject", "s3:ListBucket"], Resource = flatten([for arn in var.data_bucket_arns : [arn, "${arn}/*"]]) },
      ],
    )
    # None of these can be narrowed to a resource: they read public price lists and offerings.
    prices = [
      { Sid = "ReadPrices", Effect = "Allow", Action = ["ec2:DescribeAvailabilityZones", "ec2:DescribeCapacityBlockOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeSpotPriceHistory", "pricing:GetProducts", "savingsplans:DescribeSavingsPlansOfferingRates"], Resource = ["*"] },
    ]
    autoscaler = [
      # Of these too: they list, and know no narrower resource.
      { Sid = "See", Effect = "Allow", Action = ["autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeAutoScalingInstances", "autoscaling:DescribeLaunchConfigurations", "autoscaling:DescribeScalingActivities", "autoscaling:DescribeTags", "ec2:DescribeImages", "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplateVersions", "ec2:GetInstanceTypesFromInstanceRequirements"], Resource = ["*"] },
      # Labels and taints of a pool at zero are read here: no node is there to be asked.
      { Sid = "PoolsAtZero", Effect = "Allow", Action = ["eks:DescribeNodegroup"], Resource = [format(local.regional, "eks", "nodegroup/${var.cluster_name}/*")] },
      { Sid = "ScaleThisCluster", Effect = "Allow", Action = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"], Resource = [format(local.regional, "autoscaling", "autoScalingGroup:*")], Condition = { StringEquals = { "aws:ResourceTag/k8s.io/cluster-autoscaler/${var.cluster_name}" = "owned" } } },
    ]
  }

  use_key = var.kms_key_arn == null ? [] : [
    { Sid = "UseTheKey", Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = [var.kms_key_arn] },
  ]
  key_statements = { for name in keys(local.statements) : name => contains(["gateway", "controller", "training"], name) ? local.use_key : [] }
}
