# As tested: a later major version of the provider has not been run with these modules.
terraform {
  required_version = ">= 1.9, < 2"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 6"
    }
  }
}
