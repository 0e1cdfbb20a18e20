# What is planned: a private cluster, or nothing where one is given.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

run "private_by_default" {
  command = plan

  assert {
    condition     = aws_eks_cluster.this[0].vpc_config[0].endpoint_private_access && !aws_eks_cluster.this[0].vpc_config[0].endpoint_public_access
    error_message = "the API server has no public address"
  }
  assert {
    condition     = aws_eks_cluster.this[0].access_config[0].authentication_mode == "API" && !aws_eks_cluster.this[0].access_config[0].bootstrap_cluster_creator_admin_permissions
    error_message = "access by entries only, and none for who made it"
  }
  assert {
    condition     = length(aws_eks_cluster.this[0].enabled_cluster_log_types) == 5 && aws_cloudwatch_log_group.cluster[0].name == "/aws/eks/headway/cluster"
    error_message = "every control-plane log, in a group of ours"
  }
  assert {
    condition     = tolist(aws_eks_cluster.this[0].encryption_config[0].resources) == tolist(["secrets"]) && aws_kms_key.this[0].enable_key_rotation
    error_message = "secrets under a key that rotates"
  }
  assert {
    condition     = aws_eks_cluster.this[0].upgrade_policy[0].support_type == "STANDARD"
    error_message = "extended support is never billed"
  }
  assert {
    condition     = length(aws_eks_access_entry.this) == 0
    error_message = "nobody has access unless named"
  }
  assert {
    condition     = toset(keys(aws_eks_addon.this)) == toset(["coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni"])
    error_message = "the four add-ons that nodes need"
  }
}

run "access_is_named" {
  command = plan

  variables {
    access = {
      admin = { principal_arn = "arn:aws:iam::123456789012:role/admin", policy = "admin" }
      ci    = { principal_arn = "arn:aws:iam::123456789012:role/ci", policy = "edit", namespaces = ["headway"] }
    }
  }

  assert {
    condition     = aws_eks_access_policy_association.this["admin"].policy_arn == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy" && aws_eks_access_policy_association.this["admin"].access_scope[0].type == "cluster"
    error_message = "the administrator's right is cluster-wide"
  }
  assert {
    condition     = aws_eks_access_policy_association.this["ci"].access_scope[0].type == "namespace" && contains(aws_eks_access_policy_association.this["ci"].access_scope[0].namespaces, "headway")
    error_message = "a right in a namespace is of that namespace"
  }
}

run "a_public_endpoint_is_for_named_addresses" {
  command = plan

  variables {
    public_access_cidrs = ["203.0.113.0/24"]
  }

  assert {
    condition     = aws_eks_cluster.this[0].vpc_config[0].endpoint_public_access && tolist(aws_eks_cluster.this[0].vpc_config[0].public_access_cidrs) == tolist(["203.0.113.0/24"])
    error_message = "only the addresses that were named"
  }
}

run "a_key_that_is_there_is_used" {
  command = plan

  variables {
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/a"
  }

  assert {
    condition     = length(aws_kms_key.this) == 0 && aws_eks_cluster.this[0].encryption_config[0].provider[0].key_arn == "arn:aws:kms:us-east-1:123456789012:key/a"
    error_message = "no second key"
  }
}

run "owned_servers_may_join" {
  command = plan

  variables {
    remote_nodes = { node_cidrs = ["10.80.0.0/16"], pod_cidrs = ["10.81.0.0/16"] }
  }

  assert {
    condition     = contains(aws_eks_cluster.this[0].remote_network_config[0].remote_node_networks[0].cidrs, "10.80.0.0/16") && contains(aws_eks_cluster.this[0].remote_network_config[0].remote_pod_networks[0].cidrs, "10.81.0.0/16")
    error_message = "the addresses of hybrid nodes and of their pods"
  }
}

run "nothing_where_a_cluster_is_given" {
  command = plan

  variables {
    existing = { name = "theirs", endpoint = "https://api.example.com", certificate_authority = "Y2E=", cluster_security_group_id = "sg-1" }
    access   = { admin = { principal_arn = "arn:aws:iam::123456789012:role/admin", policy = "admin" } }
  }

  assert {
    condition     = length(aws_eks_cluster.this) + length(aws_kms_key.this) + length(aws_iam_role.cluster) + length(aws_cloudwatch_log_group.cluster) + length(aws_eks_addon.this) + length(aws_eks_access_entry.this) == 0
    error_message = "an existing cluster stays as it is"
  }
  assert {
    condition     = output.name == "theirs" && output.endpoint == "https://api.example.com" && output.certificate_authority == "Y2E=" && output.security_group_id == "sg-1" && output.kms_key_arn == null
    error_message = "what was given is handed on"
  }
}
