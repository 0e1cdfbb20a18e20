"""A real browser at a real dashboard, on a ledger that a finished run has filled."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from needed import lacks

UNIT = Path(__file__).parents[1] / "unit"
CHROMIUM = Path(os.environ.get("HEADWAY_CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def _load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_unit = _load(UNIT / "conftest.py", "unit_conftest")
_pages = _load(UNIT / "dashboards" / "conftest.py", "dashboards_conftest")
home, ledger, new_history, finished_run = _unit.home, _unit.ledger, _unit.new_history, _unit.finished_run
history = _pages.history


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.is_file():
        lacks(f"{CHROMIUM} is missing")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(180_000)  # a first page on a busy machine of two cores
    opened = context.new_page()
    yield opened
    context.close()


@pytest.fixture
def served(finished_run, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    rates = tmp_path / "rates.csv"
    rates.write_text("date,base,quote,rate\n2025-01-02,EUR,USD,1.03\n")
    command = [sys.executable, "-m", "headway.cli.main", "dashboard", "--no-browser"]
    process = subprocess.Popen([*command, "--port", str(port), "--rates", str(rates)])
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read()
            break
        except OSError:
            assert process.poll() is None
            time.sleep(0.2)
    yield url, finished_run.run_id
    process.terminate()
    process.wait(timeout=30)
    with socket.socket() as probe:  # the server ends with the command that started it
        assert probe.connect_ex(("127.0.0.1", port)) != 0
