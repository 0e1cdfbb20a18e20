output "name" {
  description = "The cluster's name."
  value       = local.make ? aws_eks_cluster.this[0].name : var.existing.name
}

output "endpoint" {
  description = "Address of the API server."
  value       = local.make ? aws_eks_cluster.this[0].endpoint : var.existing.endpoint
}

output "certificate_authority" {
  description = "The API server's certificate authority (base64)."
  value       = local.make ? aws_eks_cluster.this[0].certificate_authority[0].data : var.existing.certificate_authority
}

output "security_group_id" {
  description = "The group that nodes and control plane share."
  value       = local.make ? aws_eks_cluster.this[0].vpc_config[0].cluster_security_group_id : var.existing.cluster_security_group_id
}

output "kms_key_arn" {
  description = "The key of secrets and logs; null where an existing cluster was given without one."
  value       = local.key_arn
}
