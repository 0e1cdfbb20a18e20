# What is planned: one role for each component, and in it no more than it needs.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { name = "us-east-1" }
  }
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
}

run "a_role_for_each_component" {
  command = plan

  variables {
    training_namespaces = ["team-nlp", "team-vision"]
    kms_key_arn         = "arn:aws:kms:us-east-1:123456789012:key/a"
  }

  assert {
    condition     = toset(keys(aws_iam_role.component)) == toset(["autoscaler", "controller", "gateway", "prices", "training"]) && toset(keys(aws_iam_role_policy.component)) == toset(keys(aws_iam_role.component))
    error_message = "five components, five roles, a policy in each"
  }
  assert {
    condition = toset([for statement in jsondecode(aws_iam_role_policy.component["training"].policy).Statement : join(" ", flatten([statement.Sid, statement.Resource]))]) == toset([
      "OwnPrefix arn:aws:s3:::headway-bucket/runs/$${aws:PrincipalTag/kubernetes-namespace}/*",
      "ReadPackages arn:aws:s3:::headway-bucket/packages/* arn:aws:s3:::headway-bucket/data/*",
      "ListOwnPrefix arn:aws:s3:::headway-bucket",
      "UseTheKey arn:aws:kms:us-east-1:123456789012:key/a",
    ])
    error_message = "training pods write to their own prefix only"
  }
  assert {
    condition     = toset(jsondecode(aws_iam_role.component["training"].assume_role_policy).Statement[0].Condition.StringEquals["aws:RequestTag/kubernetes-namespace"]) == toset(["team-nlp", "team-vision"])
    error_message = "only pods of the named namespaces take the role"
  }
  assert {
    condition     = !strcontains(aws_iam_role_policy.component["prices"].policy, "kms:") && strcontains(aws_iam_role_policy.component["gateway"].policy, "kms:Decrypt")
    error_message = "the key only for who reads the bucket"
  }
  assert {
    condition     = toset(keys(aws_eks_pod_identity_association.this)) == toset(["autoscaler", "controller", "gateway", "prices", "training-team-nlp", "training-team-vision"])
    error_message = "each service account gets its role"
  }
  assert {
    condition     = toset(keys(aws_iam_role_policy_attachment.node)) == toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"])
    error_message = "nodes join and pull, no more"
  }
}

run "roles_that_are_there_are_used" {
  command = plan

  variables {
    existing_roles         = { gateway = "arn:aws:iam::123456789012:role/gateway" }
    existing_node_role_arn = "arn:aws:iam::123456789012:role/node"
    components             = ["gateway", "volumes"]
    data_bucket_arns       = ["arn:aws:s3:::corpus"]
  }

  assert {
    condition     = toset(keys(aws_iam_role.component)) == toset(["volumes"]) && length(aws_iam_role.node) == 0 && length(aws_iam_role_policy_attachment.volumes) == 1
    error_message = "no second role where one is given"
  }
  assert {
    condition     = output.role_arns["gateway"] == "arn:aws:iam::123456789012:role/gateway" && output.node_role_arn == "arn:aws:iam::123456789012:role/node" && output.values.gateway.roleArn == "arn:aws:iam::123456789012:role/gateway"
    error_message = "what was given is handed on"
  }
}

run "training_reads_further_buckets" {
  command = plan

  variables {
    data_bucket_arns = ["arn:aws:s3:::corpus"]
  }

  assert {
    condition     = [for statement in jsondecode(aws_iam_role_policy.component["training"].policy).Statement : statement.Action if statement.Sid == "ReadData"] == [["s3:GetObject", "s3:ListBucket"]]
    error_message = "reads, and nothing else"
  }
}
