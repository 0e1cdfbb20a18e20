output "role_arn" {
  description = "Karpenter's role."
  value       = aws_iam_role.controller.arn
}

output "values" {
  description = "What Karpenter's own chart needs."
  value = {
    settings = {
      clusterName       = var.cluster_name
      interruptionQueue = aws_sqs_queue.notices.name
    }
  }
}
