# What every node may do: join, pull images, and nothing of the bucket: pods have their own roles.

resource "aws_iam_role" "node" {
  count = var.existing_node_role_arn == null ? 1 : 0

  name = "${var.name}-node"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
  tags = merge(local.tags, { "headway.dev/component" = "node" })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = var.existing_node_role_arn == null ? toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"]) : toset([])

  role       = aws_iam_role.node[0].name
  policy_arn = "arn:${data.aws_partition.here.partition}:iam::aws:policy/${each.key}"
}
