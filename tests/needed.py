"""What a test needs and this machine has not: skipped on an engineer's machine, a failure in CI."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacks(what: str) -> NoReturn:
    """End the test, or all that use the fixture, for want of `what`."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}: in CI these tests must run")
    pytest.skip(what)
