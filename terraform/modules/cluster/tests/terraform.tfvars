name       = "headway"
site       = "us-east-1"
subnet_ids = ["subnet-1", "subnet-2"]
