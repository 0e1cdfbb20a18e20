"""What holds for all tests: none depends on being, or not being, an EC2 instance, or on a network.

Of tests that kill one thing at several points of a run's life, `make test` takes one, `make test-faults` all.

A test that connects to anything but this machine fails: prices, models and data come with the package, and
AWS's services are played by endpoints on the loopback.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Any

import pytest

os.environ["AWS_EC2_METADATA_DISABLED"] = "true"

_CONNECT, _CONNECT_EX = socket.socket.connect, socket.socket.connect_ex


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the further points out, unless HEADWAY_FAULTS=all."""
    if os.environ.get("HEADWAY_FAULTS") == "all":
        return
    left_out = [item for item in items if item.get_closest_marker("every_point")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_here(family: int, address: Any) -> bool:
    if family not in {socket.AF_INET, socket.AF_INET6}:
        return True
    host = str(address[0])
    try:
        found = ipaddress.ip_address(host.split("%", maxsplit=1)[0])
    except ValueError:
        return host == "localhost"
    return found.is_loopback or found.is_unspecified


def _connect(self: socket.socket, address: Any) -> None:
    assert _is_here(self.family, address), f"a test connects to {address}"
    _CONNECT(self, address)


def _connect_ex(self: socket.socket, address: Any) -> int:
    assert _is_here(self.family, address), f"a test connects to {address}"
    return _CONNECT_EX(self, address)


socket.socket.connect = _connect  # type: ignore[method-assign]
socket.socket.connect_ex = _connect_ex  # type: ignore[method-assign]
