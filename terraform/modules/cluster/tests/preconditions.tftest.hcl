# What only the whole module can refuse.

mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

run "refuses_a_cluster_in_one_subnet" {
  command = plan

  variables {
    subnet_ids = ["subnet-1"]
  }

  expect_failures = [aws_eks_cluster.this]
}
