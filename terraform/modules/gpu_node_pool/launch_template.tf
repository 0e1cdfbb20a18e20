# Machines as they start: encrypted disk, instance store for scratch, fabric, tags that the bill is matched by.

locals {
  # nodeadm's document: instance stores become one striped disk under the kubelet and the container runtime.
  node_config = yamlencode({
    apiVersion = "node.eks.aws/v1alpha1"
    kind       = "NodeConfig"
    spec       = { instance = { localStorage = { strategy = "RAID0" } } }
  })
  user_data = <<-MIME
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary="headway"

    --headway
    Content-Type: application/node.eks.aws

    ${local.node_config}
    --headway--
  MIME
}

resource "aws_placement_group" "this" {
  count = local.efa ? 1 : 0

  name     = "${var.cluster_name}-${var.name}"
  strategy = "cluster"
  tags     = local.tags
}

# The fabric wants a group that allows all traffic within itself, both ways.
resource "aws_security_group" "efa" {
  count = local.efa ? 1 : 0

  name        = "${var.cluster_name}-${var.name}-efa"
  description = "Fabric between the nodes of the pool ${var.name}"
  vpc_id      = var.vpc_id
  tags        = merge(local.tags, { Name = "${var.cluster_name}-${var.name}-efa" })
}

resource "aws_vpc_security_group_ingress_rule" "efa" {
  count = local.efa ? 1 : 0

  security_group_id            = aws_security_group.efa[0].id
  referenced_security_group_id = aws_security_group.efa[0].id
  description                  = "Fabric within the pool"
  ip_protocol                  = "-1"
  tags                         = local.tags
}

resource "aws_vpc_security_group_egress_rule" "efa" {
  count = local.efa ? 1 : 0

  security_group_id            = aws_security_group.efa[0].id
  referenced_security_group_id = aws_security_group.efa[0].id
  description                  = "Fabric within the pool"
  ip_protocol                  = "-1"
  tags                         = local.tags
}

resource "aws_launch_template" "this" {
  name_prefix            = "${var.cluster_name}-${var.name}-"
  description            = "Nodes of the pool ${var.name}"
  vpc_security_group_ids = local.efa ? null : var.security_group_ids
  update_default_version = true
  user_data              = local.scratch ? base64encode(local.user_data) : null

  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_type           = "gp3"
      volume_size           = var.volume.gib
      throughput            = var.volume.throughput
      iops                  = var.volume.iops
      encrypted             = true
      kms_key_id            = var.volume_kms_key_arn
      delete_on_termination = true
    }
  }

  # Card 0 carries the node's address at device 0; the others sit at device 1 of their own card.
  dynamic "network_interfaces" {
    for_each = range(local.efa_cards)
    content {
      device_index          = network_interfaces.value == 0 ? 0 : 1
      network_card_index    = network_interfaces.value
      interface_type        = network_interfaces.value == 0 ? "efa" : "efa-only"
      security_groups       = concat(var.security_group_ids, [aws_security_group.efa[0].id])
      delete_on_termination = true
    }
  }

  dynamic "placement" {
    for_each = aws_placement_group.this
    content {
      group_name = placement.value.name
    }
  }

  dynamic "instance_market_options" {
    for_each = local.block ? ["capacity-block"] : []
    content {
      market_type = instance_market_options.value
    }
  }

  dynamic "capacity_reservation_specification" {
    for_each = var.capacity_reservation_id == null ? [] : [var.capacity_reservation_id]
    content {
      capacity_reservation_target {
        capacity_reservation_id = capacity_reservation_specification.value
      }
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
