"""Terraform as an engineer runs it, offline: a copy of `terraform/`, and providers from a folder here.

`HEADWAY_TF_MIRROR` names that folder (`terraform providers mirror FOLDER` makes one); without it the places
where systems keep such folders are looked at. Lacking terraform or the folder these tests skip, but fail in
CI.
"""

from __future__ import annotations

import os
import shutil

import pytest
from terraform_command import PROVIDER, ROOT, Terraform, find_mirror


@pytest.fixture(scope="session")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Terraform over a copy of this project's modules and examples."""
    mirror = find_mirror()
    lack = "terraform" if shutil.which("terraform") is None else ""
    if mirror is None or not (mirror / PROVIDER).is_dir():
        lack = lack or "a folder with the provider hashicorp/aws (HEADWAY_TF_MIRROR)"
    if lack and os.environ.get("CI"):
        pytest.fail(f"{lack} is missing: in CI these tests must run")
    if lack or mirror is None:
        pytest.skip(f"{lack} is missing")
    root = tmp_path_factory.mktemp("terraform") / "terraform"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*", "*.tfplan"))
    return Terraform(root, mirror)
