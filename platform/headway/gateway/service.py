"""The gateway's parts, and the way from its one event loop to the blocking ledger and disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from headway.blobs.store import BlobStore
from headway.gateway.following import Watches
from headway.gateway.records import Records
from headway.runs.rows import RunRow
from headway.runs.tokens import Principal

T = TypeVar("T")
READERS = 8


@dataclass(frozen=True)
class Ports:
    """What the gateway asks of rooms that it does not import."""

    receipt: Callable[[str], dict[str, object]]
    run_folder: Callable[[str], Path]


@dataclass
class Gateway:
    """One gateway: ledger, store and threads; `url` is how others reach it."""

    records: Records
    store: BlobStore
    ports: Ports
    url: str
    key: bytes
    loopback_only: bool
    # One thread writes, as the ledger has one writer at a time: a queue is fairer than SQLite's waits.
    _writer: Executor = field(default_factory=lambda: ThreadPoolExecutor(1, "gateway-writer"))
    _readers: Executor = field(default_factory=lambda: ThreadPoolExecutor(READERS, "gateway-reader"))
    watches: Watches = field(default_factory=Watches)
    started: float = field(default_factory=time.time)

    async def write(self, call: Callable[[], T]) -> T:
        """Run what writes the ledger."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, call)

    async def read(self, call: Callable[[], T]) -> T:
        """Run what reads the ledger or the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, call)

    def folder(self, run: RunRow) -> Path:
        """Where a run keeps its logs."""
        return self.ports.run_folder(run.id)

    def close(self) -> None:
        """Let the threads end once they have done what they were given."""
        for executor in (self._writer, self._readers):
            executor.shutdown(wait=True)


GATEWAY: web.AppKey[Gateway] = web.AppKey("gateway", Gateway)
PRINCIPAL: web.RequestKey[Principal] = web.RequestKey("headway_principal", Principal)


def gateway_of(request: web.Request) -> Gateway:
    """The gateway that answers."""
    return request.app[GATEWAY]


def caller_of(request: web.Request) -> Principal:
    """Who asks; the authentication has put it there."""
    return request[PRINCIPAL]
