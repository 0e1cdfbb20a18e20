# What is planned: a pool that stands at zero, is paid as it says, and takes only what is placed on it.

mock_provider "aws" {}

run "spot_with_fabric" {
  command = plan

  variables {
    instance_types = ["p4d.24xlarge", "p4de.24xlarge"]
  }

  assert {
    condition     = aws_eks_node_group.this.scaling_config[0].min_size == 0 && aws_eks_node_group.this.scaling_config[0].desired_size == 0 && aws_eks_node_group.this.scaling_config[0].max_size == 2
    error_message = "it stands at zero"
  }
  assert {
    condition     = aws_eks_node_group.this.capacity_type == "SPOT" && aws_eks_node_group.this.ami_type == "AL2023_x86_64_NVIDIA"
    error_message = "spot machines with NVIDIA's driver"
  }
  assert {
    condition     = [for taint in aws_eks_node_group.this.taint : "${taint.key}=${taint.value}:${taint.effect}"] == ["headway.dev/pool=a100-spot:NO_SCHEDULE"]
    error_message = "only what tolerates the pool's name is placed"
  }
  assert {
    condition     = aws_eks_node_group.this.labels == tomap({ "headway.dev/pool" = "a100-spot", "headway.dev/site" = "us-east-1", "headway.dev/capacity" = "spot", "headway.dev/accelerator" = "a100-40" })
    error_message = "labels by which runs find the pool"
  }
  assert {
    condition     = aws_launch_template.this.metadata_options[0].http_tokens == "required" && aws_launch_template.this.metadata_options[0].http_put_response_hop_limit == 1
    error_message = "pods cannot reach the node's credentials"
  }
  assert {
    condition     = aws_launch_template.this.block_device_mappings[0].ebs[0].encrypted == "true" && aws_launch_template.this.block_device_mappings[0].ebs[0].throughput == 500
    error_message = "an encrypted disk, fast enough for images"
  }
  assert {
    condition     = strcontains(base64decode(aws_launch_template.this.user_data), "RAID0")
    error_message = "instance store becomes scratch"
  }
  assert {
    condition     = [for card in aws_launch_template.this.network_interfaces : "${card.network_card_index} ${card.device_index} ${card.interface_type}"] == ["0 0 efa", "1 1 efa-only", "2 1 efa-only", "3 1 efa-only"]
    error_message = "the fabric on each of the four cards"
  }
  assert {
    condition     = aws_placement_group.this[0].strategy == "cluster" && length(aws_launch_template.this.placement) == 1
    error_message = "machines stand close together"
  }
  assert {
    condition     = aws_vpc_security_group_ingress_rule.efa[0].ip_protocol == "-1" && aws_vpc_security_group_ingress_rule.efa[0].cidr_ipv4 == null
    error_message = "the fabric's group lets in itself, and no address"
  }
  assert {
    condition     = toset([for spec in aws_launch_template.this.tag_specifications : spec.resource_type if spec.tags["headway.dev/pool"] == "a100-spot"]) == toset(["instance", "volume", "network-interface"])
    error_message = "machines, disks and interfaces carry the pool's name on the bill"
  }
  assert {
    condition     = output.values.efaPerNode == 4 && output.values.gpusPerNode == 8 && output.values.minNodes == 0 && output.values.maxNodes == 2
    error_message = "the chart is told what was planned"
  }
}

run "one_node_needs_no_fabric" {
  command = plan

  variables {
    max_nodes  = 1
    subnet_ids = ["subnet-1", "subnet-2"]
  }

  assert {
    condition     = length(aws_placement_group.this) + length(aws_security_group.efa) + length(aws_launch_template.this.network_interfaces) == 0
    error_message = "no fabric for one node"
  }
  assert {
    condition     = contains(aws_launch_template.this.vpc_security_group_ids, "sg-1") && output.values.efaPerNode == 0
    error_message = "the cluster's group stands on the template itself"
  }
}

run "on_demand" {
  command = plan

  variables {
    capacity       = "on-demand"
    instance_types = ["g6.12xlarge"]
    efa            = false
  }

  assert {
    condition     = aws_eks_node_group.this.capacity_type == "ON_DEMAND" && length(aws_launch_template.this.capacity_reservation_specification) == 0
    error_message = "on demand, out of no reservation"
  }
}

run "reserved" {
  command = plan

  variables {
    capacity                = "reserved"
    capacity_reservation_id = "cr-0a1b2c3d"
  }

  assert {
    condition     = aws_eks_node_group.this.capacity_type == "ON_DEMAND" && aws_launch_template.this.capacity_reservation_specification[0].capacity_reservation_target[0].capacity_reservation_id == "cr-0a1b2c3d" && length(aws_launch_template.this.instance_market_options) == 0
    error_message = "on-demand machines out of the reservation"
  }
}

run "block" {
  command = plan

  variables {
    capacity                = "block"
    capacity_reservation_id = "cr-0a1b2c3d"
  }

  assert {
    condition     = aws_eks_node_group.this.capacity_type == "CAPACITY_BLOCK" && aws_launch_template.this.instance_market_options[0].market_type == "capacity-block"
    error_message = "machines of a capacity block"
  }
  assert {
    condition     = aws_launch_template.this.capacity_reservation_specification[0].capacity_reservation_target[0].capacity_reservation_id == "cr-0a1b2c3d" && aws_eks_node_group.this.scaling_config[0].min_size == 0
    error_message = "of the block that was named, and none before it begins"
  }
}
