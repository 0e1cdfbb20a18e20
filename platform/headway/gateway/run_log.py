"""What a run printed, as one stream over all its attempts, by byte offset; kept after the run has gone.

`<home>/runs/<run>/a<n>/driver.log` holds an attempt's driver, `rank-<k>.log` beside it one worker. The
stream of a run is its attempts' files one after the other: a later attempt begins only when the one before
has ended, so an offset means the same byte for ever.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from headway.errors import StateError, UserError

STREAM = re.compile(r"driver|rank-\d{1,6}")
_ATTEMPT = re.compile(r"a(\d+)")


def check_stream(stream: str) -> str:
    """The stream's name itself, if it is one.

    Raises:
        UserError: it is not `driver` or `rank-<k>`.
    """
    if not STREAM.fullmatch(stream):
        raise UserError("gateway.no_stream", stream=stream[:80])
    return stream


def parts(folder: Path, stream: str, attempt: int | None = None) -> list[Path]:
    """The files that make up a stream, in order; of one attempt where one is named."""
    if not folder.is_dir():
        return []
    found: list[tuple[int, Path]] = []
    for place in folder.iterdir():
        number = _ATTEMPT.fullmatch(place.name)
        path = place / f"{stream}.log"
        if number and (attempt is None or attempt == int(number[1])) and path.is_file():
            found.append((int(number[1]), path))
    return [path for _n, path in sorted(found)]


def size(folder: Path, stream: str, attempt: int | None = None) -> int:
    """How many bytes a stream has by now."""
    return sum(path.stat().st_size for path in parts(folder, stream, attempt))


def read(folder: Path, stream: str, offset: int, limit: int, attempt: int | None = None) -> bytes:
    """At most `limit` bytes from an offset on; fewer where the stream, or one of its files, ends before."""
    start = 0
    for path in parts(folder, stream, attempt):
        length = path.stat().st_size
        if offset < start + length:
            with path.open("rb") as file:
                file.seek(offset - start)
                return file.read(limit)
        start += length
    return b""


def append(folder: Path, attempt: int, stream: str, offset: int, data: bytes) -> int:
    """Keep what an attempt printed from an offset on; bytes that are there already are passed over.

    Gives the file's size, which is durable by then.

    Raises:
        StateError: bytes before these are missing.
    """
    path = folder / f"a{attempt}" / f"{check_stream(stream)}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        have = file.tell()
        if offset > have:
            raise StateError("gateway.log_gap", have=have, offset=offset)
        file.write(data[have - offset :])
        file.flush()
        os.fsync(file.fileno())
        return file.tell()
