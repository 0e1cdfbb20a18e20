"""Fixtures of the fault tests."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from driving import Headway

# A shell starts what runs in the background deaf to Ctrl-C, and so would be all that these tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def headway(tmp_path: Path) -> Headway:
    """A fresh installation's view: no ledger, no settings."""
    return Headway(tmp_path / "home")


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """A file that keeps a job at work for as long as it is there: no test races its own run."""
    path = tmp_path / "hold"
    path.touch()
    return path


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Whatever a test did, its runs end with it; runs of other tests beside it are left alone."""
    ours = str(tmp_path_factory.getbasetemp())
    before = {process.pid for process in psutil.process_iter()}
    yield
    for process in psutil.process_iter():
        try:
            env = {} if process.pid in before else process.environ()
            if "HEADWAY_MARK" in env and env.get("HEADWAY_HOME", "").startswith(ours):
                process.kill()
        except psutil.Error:
            continue
