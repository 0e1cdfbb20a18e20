"""Calling the command line inside the test's process."""

from __future__ import annotations

import sys

import pytest

from headway.cli import main as module


@pytest.fixture
def headway(home, monkeypatch, capfd):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["headway", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            module.main()
        out, err = capfd.readouterr()
        return stop.value.code, out, err

    return call
