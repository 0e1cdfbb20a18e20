"""A Ray of somebody else's on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def other_ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A plain Ray head on this machine that has nothing to do with Headway; gives its environment.

    Its workers would import a `headway` that refuses to be imported, so that a run on it proves that we
    bring our own.
    """
    broken = tmp_path_factory.mktemp("broken") / "headway"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('the package of the cluster, not the one sent')\n")
    env = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "0123456789abcdef0123456789abcdef",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": str(broken.parent),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    head = [str(BIN / "ray"), "start", "--head", "--port=0", "--num-cpus=2", "--temp-dir=/tmp/hwother"]
    process = subprocess.Popen(
        [*head, "--dashboard-port=28265", "--dashboard-agent-listen-port=28266", "--block"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = Path("/tmp/hwother/ray_current_cluster")
    deadline = time.monotonic() + 90
    while not address.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert address.exists(), "the other Ray did not start"
    yield {**env, "PYTHONPATH": "", "RAY_ADDRESS": address.read_text().strip()}
    process.kill()  # its children die with it
    process.wait()
    address.unlink(missing_ok=True)
