"""What holds for all tests: no test depends on the machine being, or not being, an EC2 instance."""

import os

os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
