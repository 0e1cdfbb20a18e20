"""Terraform as an engineer runs it, offline: a copy of `terraform/`, and providers from a folder here.

`HEADWAY_TF_MIRROR` names that folder (`terraform providers mirror FOLDER` makes one); without it the places
where systems keep such folders are looked at. Lacking terraform or the folder these tests skip, but fail in
CI.
"""

from __future__ import annotations

import shutil

import pytest
from terraform_command import Terraform, find_mirror

from needed import lacks


@pytest.fixture(scope="session")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Terraform over a copy of this project's modules and examples."""
    if shutil.which("terraform") is None:
        lacks("terraform is missing")
    mirror = find_mirror()
    if mirror is None:
        lacks("a folder with the provider hashicorp/aws (HEADWAY_TF_MIRROR) is missing")
    return Terraform(tmp_path_factory.mktemp("terraform") / "terraform", mirror)
