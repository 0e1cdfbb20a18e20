# What the module refuses, each with one input wrong; the first run shows that nothing else is.

mock_provider "aws" {}

run "accepts_the_rest" {
  command = plan
}

run "refuses_a_bucket_with_capitals" {
  command = plan

  variables {
    existing_bucket = "Bucket"
  }

  expect_failures = [var.existing_bucket]
}

run "refuses_a_bucket_to_make_with_a_dot" {
  command = plan

  variables {
    bucket_name = "a.bucket"
  }

  expect_failures = [var.bucket_name]
}

run "refuses_a_key_without_arn" {
  command = plan

  variables {
    kms_key_arn = "key-1"
  }

  expect_failures = [var.kms_key_arn]
}

run "refuses_a_log_bucket_with_capitals" {
  command = plan

  variables {
    log_bucket = "Logs"
  }

  expect_failures = [var.log_bucket]
}

run "refuses_replaced_versions_for_ever" {
  command = plan

  variables {
    days = { replaced = 0 }
  }

  expect_failures = [var.days]
}

run "refuses_abandoned_uploads_for_ever" {
  command = plan

  variables {
    days = { uploads = 0 }
  }

  expect_failures = [var.days]
}

run "refuses_half_a_day" {
  command = plan

  variables {
    days = { checkpoints = 0.5 }
  }

  expect_failures = [var.days]
}

run "refuses_a_lustre_of_an_odd_size" {
  command = plan

  variables {
    lustre = { subnet_id = "subnet-1", security_group_ids = [], size_gib = 1000 }
  }

  expect_failures = [var.lustre]
}

run "refuses_a_lustre_of_an_odd_speed" {
  command = plan

  variables {
    lustre = { subnet_id = "subnet-1", security_group_ids = [], size_gib = 1200, throughput_per_tib = 200 }
  }

  expect_failures = [var.lustre]
}
