"""Following a run's log: one watch per stream, however many look on.

The watch reads what is new once and keeps the last of it, so that a thousand followers cost one read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import HeadwayError
from headway.gateway import run_log

if TYPE_CHECKING:
    from headway.gateway.service import Gateway

POLL_SECONDS = 0.1
STATE_SECONDS = 0.5
GONE_SECONDS = 5.0
CHUNK_BYTES = 1 << 16
TAIL_BYTES = 1 << 18
Key = tuple[str, str, int | None]
_LOG = logging.getLogger(__name__)


@dataclass
class Watch:
    """One stream as it grows, and its last bytes; `ended` is set once nothing more can come."""

    size: int = 0
    tail: bytes = b""
    looked: bool = False
    ended: bool = False
    followers: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def tell(self) -> None:
        """Wake all that wait."""
        self.changed.set()
        self.changed = asyncio.Event()

    def since(self, offset: int) -> bytes | None:
        """Some bytes from an offset on, empty where there are none yet; None where they are on disk only."""
        begins = self.size - len(self.tail)
        if offset < begins or not self.looked:
            return None
        return self.tail[offset - begins : offset - begins + CHUNK_BYTES]

    def grow(self, size: int, data: bytes) -> None:
        """Take note of the bytes that end at a size."""
        joined = self.tail + data if size - len(data) == self.size else data
        self.size, self.tail, self.looked = size, joined[-TAIL_BYTES:], True


@dataclass
class Watches:
    """The watches that somebody follows at present."""

    by_key: dict[Key, Watch] = field(default_factory=dict[Key, Watch])


async def follow(
    gateway: Gateway,
    run_id: str,
    stream: str,
    offset: int,
    attempt: int | None,
    is_gone: Callable[[], bool],
) -> AsyncIterator[bytes]:
    """A stream's bytes from an offset on, until the run has ended and all of them were given.

    `is_gone` says whether whoever follows has gone: of a quiet run nothing is sent by which to notice.
    """
    folder, key = gateway.ports.run_folder(run_id), (run_id, stream, attempt)
    watch = _join(gateway, key, folder)
    try:
        while not is_gone():
            ended, changed = watch.ended, watch.changed
            data = watch.since(offset)
            if data is None:
                data = await gateway.read(partial(run_log.read, folder, stream, offset, CHUNK_BYTES, attempt))
            if data:
                offset += len(data)
                yield data
            elif ended:
                return
            else:
                await changed.wait()
    finally:
        _leave(gateway, key, watch)


def _join(gateway: Gateway, key: Key, folder: Path) -> Watch:
    watch = gateway.watches.by_key.setdefault(key, Watch())
    watch.followers += 1
    if watch.task is None:
        watch.task = asyncio.create_task(_look(gateway, key, folder, watch))
    return watch


def _leave(gateway: Gateway, key: Key, watch: Watch) -> None:
    watch.followers -= 1
    if watch.followers == 0 and watch.task is not None:
        watch.task.cancel()
        gateway.watches.by_key.pop(key, None)


async def _look(gateway: Gateway, key: Key, folder: Path, watch: Watch) -> None:
    loop = asyncio.get_running_loop()
    asked, told, ended = 0.0, 0.0, False
    while not watch.ended:
        try:
            if loop.time() - asked >= STATE_SECONDS:
                asked = loop.time()
                # In this order: what an ended run has printed was there before it was seen to have ended.
                ended = await gateway.read(partial(_has_ended, gateway, key[0]))
            size, data = await gateway.read(partial(_new_bytes, folder, key, watch.size))
        except (HeadwayError, OSError) as error:
            _LOG.warning("the log of %s: %s", key[0], error)  # its followers wait on, as for a quiet run
        else:
            if size != watch.size or ended or loop.time() - told >= GONE_SECONDS:
                told = loop.time()
                watch.grow(size, data)
                watch.ended = ended
                watch.tell()
        if not watch.ended:
            await asyncio.sleep(POLL_SECONDS)


def _new_bytes(folder: Path, key: Key, known: int) -> tuple[int, bytes]:
    """A stream's size, and its bytes since a known size; of many only the last."""
    _run, stream, attempt = key
    size = run_log.size(folder, stream, attempt)
    at, found = max(known, size - TAIL_BYTES), bytearray()
    while at < size and (data := run_log.read(folder, stream, at, size - at, attempt)):
        found += data
        at += len(data)
    return at if found else size, bytes(found)


def _has_ended(gateway: Gateway, run_id: str) -> bool:
    from headway.runs import queries

    with gateway.records.ledger.read() as connection:
        return queries.get_run(connection, run_id).state.is_terminal
