name               = "system"
site               = "us-east-1"
cluster_name       = "headway"
subnet_ids         = ["subnet-1", "subnet-2"]
security_group_ids = ["sg-1"]
node_role_arn      = "arn:aws:iam::123456789012:role/node"
