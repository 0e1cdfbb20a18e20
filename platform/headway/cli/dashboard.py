"""`headway dashboard`: the runs and their receipts in a browser, on this machine only."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import webbrowser
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from headway.cli.render import say
from headway.messages import text

if TYPE_CHECKING:
    from headway.settings import Settings

ADDRESS = "127.0.0.1"
VARIABLE = "HEADWAY_DASHBOARD"


@click.command("dashboard", help=text("cli.dashboard"))
@click.option("--port", type=click.IntRange(1, 65535), default=None, help=text("cli.port"))
@click.option("--no-browser", is_flag=True, help=text("cli.no_browser"))
@click.option("--rates", "rates", type=click.Path(path_type=Path), default=None, help=text("cli.rates"))
def command(port: int | None, no_browser: bool, rates: Path | None) -> int:
    """Serve the dashboard until Ctrl-C."""
    from headway.cli.session import session
    from headway.errors import ExternalError

    if importlib.util.find_spec("streamlit") is None:
        raise ExternalError("dashboard.no_streamlit")
    number = _free_port() if port is None else _usable(port)
    with session() as where:
        document = hand_over(where.settings, rates)
    url = f"http://{ADDRESS}:{number}"
    with tempfile.TemporaryDirectory(prefix="headway-dashboard-") as folder:
        path = Path(folder, "dashboard.json")
        path.write_text(json.dumps(document), encoding="utf-8")
        process = subprocess.Popen(
            serving(number), env={**os.environ, VARIABLE: str(path)}, stdout=subprocess.DEVNULL
        )
        signal.signal(signal.SIGTERM, _leave)  # else the server would outlive this process
        say(text("dashboard.url", url=url))
        if not no_browser:
            webbrowser.open(url)
        try:
            return process.wait()
        finally:
            process.terminate()
            process.wait()


def serving(port: int) -> list[str]:
    """The command that serves the pages: on this machine only, telling nobody."""
    options = {
        "server.address": ADDRESS,
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "streamlit", "run", str(entry()), *words]


def entry() -> Path:
    """The dashboard's first file: in the wheel, else in the checkout."""
    package = Path(str(files("headway")))
    shipped = package / "dashboard_app" / "app.py"
    return shipped if shipped.is_file() else package.parents[1] / "dashboards" / "app.py"


def hand_over(settings: Settings, rates: Path | None) -> dict[str, Any]:
    """What the pages cannot work out themselves.

    Raises:
        UserError: the file of exchange rates cannot be read, or is not one.
    """
    from headway.controller.figures import figures_of
    from headway.controller.receipts import grid_of, tariff_of
    from headway.errors import UserError
    from headway.reports.currency import parse_rates
    from headway.runs.account import tariff_document

    figures = figures_of(settings)
    grid = grid_of(figures)
    lines: list[str] = []
    if rates is not None:
        try:
            lines = rates.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError("dashboard.rates_unreadable", path=rates, cause=error) from error
        parse_rates(lines, str(rates))
    return {
        "ledger": str(settings.ledger_path),
        "tariff": tariff_document(tariff_of(figures)),
        "grid": {
            "grams_per_kwh": None if grid.grams_per_kwh is None else f"{grid.grams_per_kwh:f}",
            "location": grid.location,
            "source": grid.source,
            "alternatives": grid.alternatives,
            "pue": f"{grid.pue:f}",
        },
        "rates": lines,
        "rates_path": str(rates or ""),
        "command": [sys.executable, "-m", "headway.cli.main"],
    }


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _free_port() -> int:
    try:
        return _bound(8501)
    except OSError:
        return _bound(0)


def _usable(port: int) -> int:
    """The port, where the pages can be served on it; said before any address is announced."""
    from headway.errors import ExternalError

    try:
        return _bound(port)
    except OSError as error:
        cause = error.strerror or str(error)
        raise ExternalError("dashboard.port", port=port, address=ADDRESS, cause=cause) from error


def _bound(port: int) -> int:
    with socket.socket() as probe:
        # As the server does: connections of an earlier one that still fade away do not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((ADDRESS, port))
        return int(probe.getsockname()[1])
