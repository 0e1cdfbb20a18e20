"""The terraform command over a copy of `terraform/`, and where its providers lie."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2] / "terraform"
MODULES = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/*/main.tf"))
PROVIDER = Path("registry.terraform.io", "hashicorp", "aws")
_PLACES = ("/opt", "/usr/share", "/usr/local/share", str(Path.home() / ".terraform.d"))


class Terraform:
    """The terraform command in a folder that is thrown away."""

    def __init__(self, root: Path, mirror: Path) -> None:
        self.root, self._mirror = root, mirror
        self._ready: set[str] = set()

    def run(self, module: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command in one module or example."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "AWS_"))}
        return subprocess.run(
            ["terraform", f"-chdir={self.root / module}", *words],
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

    def ready(self, module: str) -> None:
        """Fetch its providers and modules, once."""
        if module not in self._ready:
            self.ok(module, "init", "-backend=false", "-input=false", f"-plugin-dir={self._mirror}")
            self._ready.add(module)


def find_mirror() -> Path | None:
    """The folder with providers, where there is one."""
    if given := os.environ.get("HEADWAY_TF_MIRROR"):
        return Path(given)
    for place in _PLACES:
        for depth in ("", "*", "*/*"):
            for found in Path(place).glob(f"{depth}/{PROVIDER}".lstrip("/")):
                return found.parents[2]
    return None
