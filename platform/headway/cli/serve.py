"""`headway serve`: the gateway, and beside it the controller that starts what it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from headway.cli.render import say
from headway.messages import text

PORT = 8270


@click.command("serve", help=text("cli.serve"))
@click.option("--host", default="127.0.0.1", show_default=True, help=text("cli.host"))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help=text("cli.gateway_port")
)
@click.option("--public-url", help=text("cli.public_url"))
@click.option(
    "--tls-cert", "certificate", type=click.Path(path_type=Path, dir_okay=False), help=text("cli.tls_cert")
)
@click.option("--tls-key", "key", type=click.Path(path_type=Path, dir_okay=False), help=text("cli.tls_key"))
@click.option("--no-controller", is_flag=True, help=text("cli.no_controller"))
def command(
    host: str,
    port: int,
    public_url: str | None,
    certificate: Path | None,
    key: Path | None,
    no_controller: bool,
) -> None:
    """Serve until Ctrl-C."""
    import importlib.util
    import logging

    from headway.errors import ExternalError

    if importlib.util.find_spec("aiohttp") is None or importlib.util.find_spec("prometheus_client") is None:
        raise ExternalError("gateway.no_aiohttp")
    from headway.blobs.choose import open_store
    from headway.cli.session import session
    from headway.controller.figures import figures_of
    from headway.controller.receipts import receipt_of
    from headway.gateway.service import Ports
    from headway.gateway.serving import Listening, serve
    from headway.reports.document import receipt_document

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    with session() as where:
        settings, ledger = where.settings, where.ledger

        def receipt(run_id: str) -> dict[str, object]:
            with ledger.read() as connection:
                return receipt_document(receipt_of(connection, run_id, figures_of(settings)))

        def told(url: str) -> None:
            say(text("gateway.listening", url=url))
            say(text("gateway.try", url=url))

        store = open_store(settings.get("blobs"), settings.home)
        listening = Listening(host, port, public_url, certificate, key)
        child = None if no_controller else _start_controller()
        try:
            serve(listening, ledger, store, Ports(receipt, settings.run_folder), settings.home, told)
        finally:
            if child is not None:
                child.terminate()
                child.wait()


def _start_controller() -> subprocess.Popen[bytes]:
    from headway.backends.local.driver import die_with_parent

    return subprocess.Popen(
        [sys.executable, "-m", "headway.cli.main", "controller"],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - no other thread runs yet
    )
