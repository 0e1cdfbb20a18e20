# No provider: this module makes nothing, it renders text.
terraform {
  required_version = ">= 1.9, < 2"
}
