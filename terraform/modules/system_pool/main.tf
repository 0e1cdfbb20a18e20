# The nodes that always stand: DNS, operators, gateway, controller, and what adds GPU nodes to a pool at zero.

locals {
  arm    = can(regex("^[a-z][0-9]g", var.instance_types[0]))
  bursts = startswith(var.instance_types[0], "t3")
  ami    = local.arm ? "AL2023_ARM_64_STANDARD" : "AL2023_x86_64_STANDARD"
  tagged = ["instance", "volume", "network-interface"]
  labels = {
    "headway.dev/pool" = var.name
    "headway.dev/site" = var.site
  }
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/pool"       = var.name
    "headway.dev/component"  = "system-pool"
    "headway.dev/managed-by" = "terraform"
  })
}

resource "aws_launch_template" "this" {
  name_prefix            = "${var.cluster_name}-${var.name}-"
  description            = "Nodes of the pool ${var.name}"
  vpc_security_group_ids = var.security_group_ids
  update_default_version = true

  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_type           = "gp3"
      volume_size           = var.volume_gib
      encrypted             = true
      kms_key_id            = var.volume_kms_key_arn
      delete_on_termination = true
    }
  }

  # Unlimited credits would bill a busy hour on top of the price that a plan shows.
  dynamic "credit_specification" {
    for_each = local.bursts ? ["standard"] : []
    content {
      cpu_credits = credit_specification.value
    }
  }

  # Pods cannot reach the node's credentials: one hop, and a token for each question.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  # A node group does not hand its tags on to machines: the bill is matched by these.
  dynamic "tag_specifications" {
    for_each = local.tagged
    content {
      resource_type = tag_specifications.value
      tags          = merge(local.tags, { Name = "${var.cluster_name}-${var.name}" })
    }
  }

  tags = local.tags
}

resource "aws_eks_node_group" "this" {
  cluster_name    = var.cluster_name
  node_group_name = var.name
  node_role_arn   = var.node_role_arn
  subnet_ids      = var.subnet_ids
  ami_type        = local.ami
  capacity_type   = "ON_DEMAND"
  instance_types  = var.instance_types
  labels          = local.labels

  launch_template {
    id      = aws_launch_template.this.id
    version = aws_launch_template.this.latest_version
  }

  scaling_config {
    min_size     = var.nodes.min
    desired_size = var.nodes.min
    max_size     = var.nodes.max
  }

  update_config {
    max_unavailable = 1
  }

  node_repair_config {
    enabled = true
  }

  tags = local.tags

  # The autoscaler moves it.
  lifecycle {
    ignore_changes = [scaling_config[0].desired_size]
  }
}
