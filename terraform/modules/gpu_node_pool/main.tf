# A pool of GPU machines that stands at zero until a run is placed on it.

locals {
  known = { for type, facts in jsondecode(file("${path.module}/instances.json")) : type => facts if contains(var.instance_types, type) }
  first = local.known[var.instance_types[0]]
  # An interface on a card that one of the types lacks would make that type unlaunchable.
  cards     = min([for facts in values(local.known) : facts.efa_cards]...)
  efa       = var.efa == null ? local.cards > 0 && var.max_nodes > 1 : var.efa
  efa_cards = local.efa ? local.cards : 0
  scratch   = alltrue([for facts in values(local.known) : facts.scratch_bytes > 0])
  block     = var.capacity == "block"
  tagged    = ["instance", "volume", "network-interface"]
  eks_capacity = {
    "on-demand" = "ON_DEMAND"
    "spot"      = "SPOT"
    "reserved"  = "ON_DEMAND"
    "block"     = "CAPACITY_BLOCK"
  }
  labels = {
    "headway.dev/pool"        = var.name
    "headway.dev/site"        = var.site
    "headway.dev/capacity"    = var.capacity
    "headway.dev/accelerator" = local.first.accelerator
  }
  # Only what Headway placed on this pool tolerates its name; nothing else may wake a GPU machine.
  taints = [{ key = "headway.dev/pool", value = var.name, effect = "NoSchedule" }]
  tags = merge(var.tags, {
    "headway.dev/site"       = var.site
    "headway.dev/team"       = var.team
    "headway.dev/pool"       = var.name
    "headway.dev/capacity"   = var.capacity
    "headway.dev/component"  = "gpu-pool"
    "headway.dev/managed-by" = "terraform"
  })
}

resource "aws_eks_node_group" "this" {
  cluster_name    = var.cluster_name
  node_group_name = var.name
  node_role_arn   = var.node_role_arn
  subnet_ids      = var.subnet_ids
  ami_type        = "AL2023_x86_64_NVIDIA"
  capacity_type   = local.eks_capacity[var.capacity]
  instance_types  = var.instance_types
  labels          = local.labels

  launch_template {
    id      = aws_launch_template.this.id
    version = aws_launch_template.this.latest_version
  }

  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = var.max_nodes
  }

  dynamic "taint" {
    for_each = local.taints
    content {
      key    = taint.value.key
      value  = taint.value.value
      effect = "NO_SCHEDULE"
    }
  }

  update_config {
    max_unavailable = 1
  }

  node_repair_config {
    enabled = true
  }

  tags = local.tags

  lifecycle {
    # The autoscaler moves it.
    ignore_changes = [scaling_config[0].desired_size]

    precondition {
      condition     = !local.efa || length(var.subnet_ids) == 1
      error_message = "subnet_ids: a pool with EFA stands in one zone, since a placement group does; name one subnet, or set efa = false."
    }
    precondition {
      condition     = !local.efa || var.vpc_id != null
      error_message = "vpc_id: a pool with EFA needs it for its security group."
    }
    precondition {
      condition     = !local.efa || local.cards > 0
      error_message = "efa: not every one of the instance types has it."
    }
    precondition {
      condition     = !contains(["reserved", "block"], var.capacity) || length(var.instance_types) == 1
      error_message = "instance_types: a reservation is of one type."
    }
  }
}
