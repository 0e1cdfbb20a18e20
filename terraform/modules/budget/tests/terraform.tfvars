name        = "headway"
site        = "us-east-1"
monthly_usd = 1000
emails      = ["alarm@example.com"]
