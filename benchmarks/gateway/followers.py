"""Log followers that are cut in the middle of what they read and go on at their next byte."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass

READ_BYTES = 1 << 16
QUIET_SECONDS = 60.0


@dataclass
class Tally:
    """What all followers together have seen."""

    whole: bytes
    cuts: int = 0
    lost: int = 0


async def follow_all(
    address: tuple[str, int],
    path: str,
    tally: Tally,
    followers: int,
    cuts: int,
    step: Callable[[int], None],
) -> None:
    """Let every follower read the whole log, each cut at places of its own; `step` hears the cuts so far."""
    tasks = [
        asyncio.create_task(_follow(address, path, tally, cut_points(len(tally.whole), cuts, seed)))
        for seed in range(followers)
    ]
    while any(not task.done() for task in tasks):
        step(tally.cuts)
        await asyncio.sleep(0.1)
    await asyncio.gather(*tasks)


def cut_points(size: int, cuts: int, seed: int) -> list[int]:
    """Where one follower is cut: any byte, most of them in the middle of a line or of a character."""
    return sorted(random.Random(seed).sample(range(1, size), cuts))


async def _follow(address: tuple[str, int], path: str, tally: Tally, points: list[int]) -> None:
    have = 0
    for point in (*points, None):
        got = await _connection(address, f"{path}&offset={have}", tally, have, point)
        have += got
        tally.cuts += point is not None
    tally.lost += abs(len(tally.whole) - have)


async def _connection(
    address: tuple[str, int], path: str, tally: Tally, offset: int, until: int | None
) -> int:
    """Read from one connection up to a byte, then cut it (to the end: None); gives how much was read."""
    reader, writer = await asyncio.open_connection(*address)
    got = 0
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address[0]}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head[:200]
        while until is None or offset + got < until:
            data = await asyncio.wait_for(_chunk(reader), QUIET_SECONDS)
            if not data:
                break
            if until is not None:
                data = data[: until - offset - got]  # what came with it is thrown away, as a cut does
            expected = tally.whole[offset + got : offset + got + len(data)]
            tally.lost += sum(a != b for a, b in zip(data, expected, strict=False)) if data != expected else 0
            got += len(data)
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return got


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readline(), 16)
    data = await reader.readexactly(size)
    await reader.readexactly(2)
    return data
