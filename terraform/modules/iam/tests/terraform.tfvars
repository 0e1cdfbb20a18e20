name         = "headway"
site         = "us-east-1"
cluster_name = "headway"
bucket_arn   = "arn:aws:s3:::headway-bucket"
