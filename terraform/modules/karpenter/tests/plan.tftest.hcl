# What is planned: a role that ends only its own machines, and a queue of AWS's notices.

mock_provider "aws" {}

run "queue_and_role" {
  command = plan

  assert {
    condition     = toset([for rule in aws_cloudwatch_event_rule.notices : jsondecode(rule.event_pattern)["detail-type"][0]]) == toset(["AWS Health Event", "EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation", "EC2 Instance State-change Notification", "EC2 Capacity Reservation Instance Interruption Warning"])
    error_message = "every notice that a node will go"
  }
  assert {
    condition     = aws_sqs_queue.notices.sqs_managed_sse_enabled && aws_sqs_queue.notices.message_retention_seconds == 300
    error_message = "an encrypted queue that forgets"
  }
  assert {
    condition     = jsondecode(aws_iam_role.controller.assume_role_policy).Statement[0].Condition.StringEquals["aws:RequestTag/kubernetes-service-account"] == "karpenter" && aws_eks_pod_identity_association.controller.namespace == "kube-system"
    error_message = "only Karpenter's service account takes the role"
  }
  assert {
    condition     = length(aws_eks_access_entry.nodes) == 0
    error_message = "a managed node group has let the node role in already"
  }
}

run "nodes_of_its_own_role" {
  command = plan

  variables {
    node_access_entry = true
  }

  assert {
    condition     = aws_eks_access_entry.nodes[0].type == "EC2_LINUX"
    error_message = "the node role may join"
  }
}
