# What is rendered: the site, the labels, and the document that servers join with.

run "servers_that_join_eks" {
  command = plan

  assert {
    condition     = output.site.server.price == "110000 USD" && output.site.tariff == "0.146 USD" && output.site.pools == [{ name = "l40s", max_nodes = 4 }] && !contains(keys(output.site), "colo")
    error_message = "the site as stated, and nothing that was not"
  }
  assert {
    condition     = output.labels.l40s == { "headway.dev/pool" = "l40s", "headway.dev/site" = "dc1", "headway.dev/capacity" = "owned", "headway.dev/accelerator" = "l40s" }
    error_message = "labels by which runs find the pool"
  }
  assert {
    condition     = yamldecode(output.bootstrap.l40s).kind == "NodeConfig" && contains(yamldecode(output.bootstrap.l40s).spec.kubelet.flags, "--register-with-taints=headway.dev/pool=l40s:NoSchedule")
    error_message = "nodeadm's document, with the taint"
  }
  assert {
    condition     = yamldecode(output.bootstrap.l40s).spec.hybrid.ssm.activationCode == "$${ACTIVATION_CODE}"
    error_message = "no secret stands in the document"
  }
}

run "servers_of_a_cluster_of_their_own" {
  command = plan

  variables {
    monthly = { colo = 150.5 }
    join    = { kind = "own-cluster", api_endpoint = "10.0.0.1:6443", ca_cert_hash = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
  }

  assert {
    condition     = yamldecode(output.bootstrap.l40s).kind == "JoinConfiguration" && yamldecode(output.bootstrap.l40s).discovery.bootstrapToken.token == "$${JOIN_TOKEN}"
    error_message = "kubeadm's document, without its secret"
  }
  assert {
    condition     = yamldecode(output.bootstrap.l40s).nodeRegistration.taints == [{ key = "headway.dev/pool", value = "l40s", effect = "NoSchedule" }]
    error_message = "the pool's taint from the first minute"
  }
  assert {
    condition     = output.site.colo == "150.5 USD"
    error_message = "rent as stated"
  }
}
