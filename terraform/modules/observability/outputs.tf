output "workspace_arn" {
  description = "The workspace; null: none."
  value       = local.workspace
}

output "values" {
  description = "Where Prometheus writes, as the chart's values name it; null: nowhere."
  value = !local.writes ? null : {
    remoteWrite = local.make ? "${aws_prometheus_workspace.this[0].prometheus_endpoint}api/v1/remote_write" : null
    workspace   = local.workspace
  }
}
