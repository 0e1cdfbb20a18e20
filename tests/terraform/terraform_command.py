"""The terraform command over a copy of `terraform/`, and where its providers lie."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2] / "terraform"
MODULES = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/*/main.tf"))
_TAGGED = ROOT / "modules" / "tagged.tftest.hcl"
_PROVIDER = Path("registry.terraform.io", "hashicorp", "aws")
_PLACES = ("/opt", "/usr/share", "/usr/local/share", str(Path.home() / ".terraform.d"))


def _tags(module: str) -> bool:
    return any('variable "team"' in path.read_text() for path in (ROOT / module).glob("*.tf"))


def files_of_tests(module: str) -> list[Path]:
    """Where a module's tests stand: its own, and those of all modules that tag what they make."""
    own = sorted((ROOT / module).glob("tests/*.tftest.hcl"))
    return [*own, _TAGGED] if _tags(module) else own


def find_mirror() -> Path | None:
    """The folder with the provider, where there is one."""
    if given := os.environ.get("HEADWAY_TF_MIRROR"):
        return Path(given) if Path(given, _PROVIDER).is_dir() else None
    for place in _PLACES:
        for depth in (".", "*", "*/*"):
            for found in Path(place).glob(f"{depth}/{_PROVIDER}"):
                return found.parents[2]
    return None


class Terraform:
    """The terraform command in a folder that is thrown away."""

    def __init__(self, root: Path, mirror: Path) -> None:
        self._root, self._mirror = root, mirror
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*", "*.tfplan"))
        for module in filter(_tags, MODULES):
            shutil.copy(_TAGGED, root / module / "tests")

    def run(self, module: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command in one module or example."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "AWS_"))}
        return subprocess.run(
            ["terraform", f"-chdir={self._root / module}", *words],
            env={**env, "CHECKPOINT_DISABLE": "1", "AWS_EC2_METADATA_DISABLED": "true"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def ok(self, module: str, *words: str) -> str:
        """One that must succeed."""
        done = self.run(module, *words)
        assert done.returncode == 0, f"terraform {words} in {module}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def init(self, module: str) -> None:
        """Fetch its providers and modules."""
        self.ok(module, "init", "-backend=false", "-input=false", f"-plugin-dir={self._mirror}")
