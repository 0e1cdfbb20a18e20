"""No test reaches another machine."""

import socket

import pytest


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "example.com"])
def test_only_this_machine_is_reached(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as sock, pytest.raises(AssertionError, match="connects to"):
        sock.connect((address, 80))
    with socket.socket(family) as sock, pytest.raises(AssertionError, match="connects to"):
        sock.connect_ex((address, 80))
