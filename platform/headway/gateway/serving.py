"""Listening: on loopback freely, on any other address only once a token has been made."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from headway.blobs.store import BlobStore
from headway.errors import ConfigError, ExternalError
from headway.gateway.app import make_app
from headway.gateway.records import Records
from headway.gateway.service import Gateway, Ports
from headway.gateway.signed import signing_key
from headway.runs import tokens
from headway.runs.store import Ledger

SHUTDOWN_SECONDS = 5.0
BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Listening:
    """Where to listen, and what others call it."""

    host: str
    port: int
    public_url: str | None = None
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def serve(
    where: Listening,
    ledger: Ledger,
    store: BlobStore,
    ports: Ports,
    home: Path,
    tell: Callable[[str], None],
) -> None:
    """Answer until SIGTERM or SIGINT; `tell` hears the address once it listens.

    Raises:
        ConfigError: the address can be reached from elsewhere and no token has been made.
        ExternalError: the address is taken, or no address of this machine.
    """
    if not where.is_loopback:
        with ledger.read() as connection:
            if not tokens.any_issued(connection):
                raise ConfigError("gateway.open_address", host=where.host)
    context = _tls(where)
    listener = _listen(where)
    port = listener.getsockname()[1]
    scheme = "https" if context else "http"
    host = f"[{where.host}]" if ":" in where.host else where.host
    url = (where.public_url or f"{scheme}://{host}:{port}").rstrip("/")
    gateway = Gateway(Records(ledger), store, ports, url, signing_key(home), where.is_loopback)
    asyncio.run(_run(gateway, listener, context, lambda: tell(url)))


def _listen(where: Listening) -> socket.socket:
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((where.host, where.port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ExternalError("gateway.cannot_listen", host=where.host, port=where.port, cause=error) from error
    return listener


def _tls(where: Listening) -> ssl.SSLContext | None:
    if where.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(where.certificate, where.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError("gateway.bad_certificate", path=where.certificate, cause=error) from error
    return context


async def _run(
    gateway: Gateway, listener: socket.socket, context: ssl.SSLContext | None, tell: Callable[[], None]
) -> None:
    runner = web.AppRunner(make_app(gateway), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=context, backlog=BACKLOG).start()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tell()
    await stop.wait()
    await runner.cleanup()
