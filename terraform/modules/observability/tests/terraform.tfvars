name         = "headway"
site         = "us-east-1"
cluster_name = "headway"
