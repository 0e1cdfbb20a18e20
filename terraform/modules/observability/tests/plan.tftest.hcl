# What is planned: nothing unless asked for.

mock_provider "aws" {}

run "off_by_default" {
  command = plan

  assert {
    condition     = length(aws_prometheus_workspace.this) + length(aws_cloudwatch_log_group.this) + length(aws_iam_role.writer) + length(aws_eks_pod_identity_association.writer) == 0
    error_message = "nothing that bills"
  }
  assert {
    condition     = output.values == null && output.workspace_arn == null
    error_message = "and the chart is told that there is none"
  }
}

run "a_workspace_of_its_own" {
  command = plan

  variables {
    prometheus = true
  }

  assert {
    condition     = aws_prometheus_workspace.this[0].alias == "headway" && aws_eks_pod_identity_association.writer[0].service_account == "prometheus"
    error_message = "a workspace, and who writes to it"
  }
}

run "a_workspace_that_is_there" {
  command = plan

  variables {
    existing_workspace_arn = "arn:aws:aps:us-east-1:123456789012:workspace/ws-1"
  }

  assert {
    condition     = length(aws_prometheus_workspace.this) == 0 && jsondecode(aws_iam_role_policy.writer[0].policy).Statement[0].Resource == ["arn:aws:aps:us-east-1:123456789012:workspace/ws-1"]
    error_message = "only a role that writes to it"
  }
}
