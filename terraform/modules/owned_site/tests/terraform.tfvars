name   = "dc1"
server = { price = 110000, cores = 128, gpus = 8, accelerator = "l40s", memory_gib = 1024 }
power  = { watts = 3800, tariff = 0.146 }
pools  = { l40s = 4 }
join   = { kind = "eks-hybrid", cluster_name = "headway", region = "us-east-1" }
