"""`headway up`: gateway, controller and dashboard on this machine, detached."""

from __future__ import annotations

import importlib.util

import click

from headway.cli.render import say
from headway.messages import text


@click.command("up", help=text("cli.up"))
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8270, show_default=True, help=text("cli.gateway_port")
)
@click.option(
    "--dashboard-port",
    type=click.IntRange(1, 65535),
    default=8501,
    show_default=True,
    help=text("cli.port"),
)
@click.option("--no-dashboard", is_flag=True, help=text("cli.no_dashboard"))
def command(port: int, dashboard_port: int, no_dashboard: bool) -> None:
    """Start what is not running yet."""
    from headway.controller import services
    from headway.settings import Settings

    settings = Settings.load()
    wanted: list[tuple[str, list[str], str | None]] = [
        ("gateway", ["serve", "--no-controller", "--port", str(port)], f"http://127.0.0.1:{port}"),
        ("controller", ["controller"], None),
    ]
    if not no_dashboard and importlib.util.find_spec("streamlit") is not None:
        words = ["dashboard", "--no-browser", "--port", str(dashboard_port)]
        wanted.append(("dashboard", words, f"http://127.0.0.1:{dashboard_port}"))
    for name, words, url in wanted:
        service = services.start(settings, name, words, url)
        say(text("services.up", name=name, url=service.url or service.log))
    say(text("services.try", url=f"http://127.0.0.1:{port}"))
