# What the module refuses, each with one input wrong; the first run shows that nothing else is.

run "accepts_the_rest" {
  command = plan
}

run "refuses_the_site_that_is_always_there" {
  command = plan

  variables {
    name = "here"
  }

  expect_failures = [var.name]
}

run "refuses_a_currency_in_words" {
  command = plan

  variables {
    currency = "dollars"
  }

  expect_failures = [var.currency]
}

run "refuses_a_server_for_nothing" {
  command = plan

  variables {
    server = { price = 0, cores = 128, gpus = 8, accelerator = "l40s", memory_gib = 1024 }
  }

  expect_failures = [var.server]
}

run "refuses_a_life_of_nothing" {
  command = plan

  variables {
    finance = { life_years = 0 }
  }

  expect_failures = [var.finance]
}

run "refuses_a_use_above_all_hours" {
  command = plan

  variables {
    finance = { utilisation = 1.5 }
  }

  expect_failures = [var.finance]
}

run "refuses_a_pue_below_one" {
  command = plan

  variables {
    power = { watts = 3800, pue = 0.9, tariff = 0.146 }
  }

  expect_failures = [var.power]
}

run "refuses_a_rent_below_nothing" {
  command = plan

  variables {
    monthly = { colo = -1 }
  }

  expect_failures = [var.monthly]
}

run "refuses_a_staff_below_nothing" {
  command = plan

  variables {
    monthly = { staff = -1 }
  }

  expect_failures = [var.monthly]
}

run "refuses_no_pool" {
  command = plan

  variables {
    pools = {}
  }

  expect_failures = [var.pools]
}

run "refuses_half_a_server" {
  command = plan

  variables {
    pools = { l40s = 1.5 }
  }

  expect_failures = [var.pools]
}

run "refuses_an_unknown_sensitivity" {
  command = plan

  variables {
    sensitivities = ["secret"]
  }

  expect_failures = [var.sensitivities]
}

run "refuses_an_unknown_way_to_join" {
  command = plan

  variables {
    join = { kind = "ssh" }
  }

  expect_failures = [var.join]
}

run "refuses_an_own_cluster_without_the_hash_of_its_ca" {
  command = plan

  variables {
    join = { kind = "own-cluster", api_endpoint = "10.0.0.1:6443" }
  }

  expect_failures = [var.join]
}

run "refuses_hybrid_nodes_without_a_cluster" {
  command = plan

  variables {
    join = { kind = "eks-hybrid", region = "us-east-1" }
  }

  expect_failures = [var.join]
}
