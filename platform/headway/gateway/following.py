"""Following a run's log: one watch per run, however many look on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headway.gateway import run_log

if TYPE_CHECKING:
    from headway.gateway.service import Gateway

POLL_SECONDS = 0.1
STATE_SECONDS = 0.5
CHUNK_BYTES = 1 << 16


@dataclass
class Watch:
    """One run's log as it grows; `ended` is set once nothing more can come."""

    size: int = -1
    ended: bool = False
    followers: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def tell(self) -> None:
        """Wake all that wait."""
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass
class Watches:
    """The watches that somebody follows at present."""

    by_key: dict[tuple[str, str], Watch] = field(default_factory=dict[tuple[str, str], Watch])


async def follow(
    gateway: Gateway, run_id: str, stream: str, offset: int, attempt: int | None = None
) -> AsyncIterator[bytes]:
    """A stream's bytes from an offset on, until the run has ended and all of them were given."""
    folder = gateway.ports.run_folder(run_id)
    watch = _join(gateway, run_id, stream, folder)
    try:
        while True:
            ended, changed = watch.ended, watch.changed
            data = await gateway.read(_reading(folder, stream, offset, attempt))
            if data:
                offset += len(data)
                yield data
            elif ended:
                return
            else:
                await changed.wait()
    finally:
        _leave(gateway, (run_id, stream), watch)


def _reading(folder: Path, stream: str, offset: int, attempt: int | None) -> Callable[[], bytes]:
    return lambda: run_log.read(folder, stream, offset, CHUNK_BYTES, attempt)


def _join(gateway: Gateway, run_id: str, stream: str, folder: Path) -> Watch:
    watch = gateway.watches.by_key.setdefault((run_id, stream), Watch())
    watch.followers += 1
    if watch.task is None:
        watch.task = asyncio.create_task(_look(gateway, run_id, stream, folder, watch))
    return watch


def _leave(gateway: Gateway, key: tuple[str, str], watch: Watch) -> None:
    watch.followers -= 1
    if watch.followers == 0 and watch.task is not None:
        watch.task.cancel()
        gateway.watches.by_key.pop(key, None)


async def _look(gateway: Gateway, run_id: str, stream: str, folder: Path, watch: Watch) -> None:
    loop = asyncio.get_running_loop()
    asked = 0.0
    while not watch.ended:
        if loop.time() - asked >= STATE_SECONDS:
            asked = loop.time()
            # In this order: what an ended run has printed was there before it was seen to have ended.
            ended = await gateway.read(lambda: _has_ended(gateway, run_id))
        else:
            ended = False
        size = await gateway.read(lambda: run_log.size(folder, stream))
        if size != watch.size or ended:
            watch.size, watch.ended = size, ended
            watch.tell()
        if not ended:
            await asyncio.sleep(POLL_SECONDS)


def _has_ended(gateway: Gateway, run_id: str) -> bool:
    from headway.runs import queries

    with gateway.records.ledger.read() as connection:
        return queries.get_run(connection, run_id).state.is_terminal
