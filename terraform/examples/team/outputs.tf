output "sites" {
  description = "sites.yaml: `terraform output -raw sites > sites.yaml`, then HEADWAY_SITES=sites.yaml."
  value       = yamlencode({ version = 1, sites = local.sites })
}

output "pools" {
  description = "The pools as both files name them."
  value       = local.pools
}

output "values" {
  description = "Values of the chart: `terraform output -raw values > values.yaml`, then helm install -f values.yaml."
  value       = yamlencode(local.values)
}
