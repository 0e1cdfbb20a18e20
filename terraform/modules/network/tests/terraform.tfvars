name  = "headway"
site  = "us-east-1"
zones = ["us-east-1a", "us-east-1b"]
