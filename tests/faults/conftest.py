"""Fixtures of the fault tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
from driving import Headway


@pytest.fixture
def headway(tmp_path: Path) -> Headway:
    """A fresh installation's view: no ledger, no settings."""
    return Headway(tmp_path / "home")


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Any:
    """Whatever a test did, its runs end with it."""
    before = {process.pid for process in psutil.process_iter()}
    yield
    for process in psutil.process_iter():
        try:
            if process.pid not in before and "HEADWAY_MARK" in process.environ():
                process.kill()
        except psutil.Error:
            continue
