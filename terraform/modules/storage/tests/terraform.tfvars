name = "headway"
site = "us-east-1"
