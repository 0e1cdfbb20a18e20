name          = "headway"
site          = "us-east-1"
cluster_name  = "headway"
node_role_arn = "arn:aws:iam::123456789012:role/node"
