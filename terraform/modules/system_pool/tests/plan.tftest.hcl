# What is planned: nodes that always stand, of the architecture that was asked for.

mock_provider "aws" {}

run "one_small_node" {
  command = plan

  assert {
    condition     = aws_eks_node_group.this.scaling_config[0].min_size == 1 && aws_eks_node_group.this.scaling_config[0].desired_size == 1 && aws_eks_node_group.this.scaling_config[0].max_size == 3
    error_message = "one node always, three at most"
  }
  assert {
    condition     = aws_eks_node_group.this.ami_type == "AL2023_x86_64_STANDARD" && length(aws_eks_node_group.this.taint) == 0
    error_message = "no taint: operators and DNS run here"
  }
  assert {
    condition     = aws_launch_template.this.credit_specification[0].cpu_credits == "standard"
    error_message = "a busy hour costs no more than the price"
  }
  assert {
    condition     = aws_launch_template.this.metadata_options[0].http_tokens == "required" && aws_launch_template.this.metadata_options[0].http_put_response_hop_limit == 1
    error_message = "pods cannot reach the node's credentials"
  }
  assert {
    condition     = aws_launch_template.this.block_device_mappings[0].ebs[0].encrypted == "true"
    error_message = "an encrypted disk"
  }
  assert {
    condition     = toset([for spec in aws_launch_template.this.tag_specifications : spec.resource_type if spec.tags["headway.dev/pool"] == "system"]) == toset(["instance", "volume", "network-interface"])
    error_message = "machines, disks and interfaces carry the pool's name on the bill"
  }
}

run "arm" {
  command = plan

  variables {
    instance_types = ["m7g.large"]
  }

  assert {
    condition     = aws_eks_node_group.this.ami_type == "AL2023_ARM_64_STANDARD" && length(aws_launch_template.this.credit_specification) == 0
    error_message = "an image for ARM, and no credits where there are none"
  }
}
