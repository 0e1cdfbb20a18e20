"""What workers tell the supervisor: one JSON line per event, appended to a file of their own.

A line is complete when its newline is there; a reader leaves an incomplete last line for later. `epoch` is
the moment the writer started, `seq` counts its lines: the ledger takes each line once, however often it is
read.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast


class SpoolWriter:
    """Appends events to `<folder>/<name>-<epoch>.jsonl`; without a folder it does nothing."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.epoch = time.time_ns() // 1000
        self._seq = 0
        self._file = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}-{self.epoch}.jsonl"
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, event_kind: str, /, **body: Any) -> None:  # noqa: ANN401 - any JSON value
        """Append one event that happens now."""
        if self._file is None:
            return
        self._seq += 1
        event = {
            "epoch": self.epoch,
            "seq": self._seq,
            "at": time.time_ns() // 1000,
            "kind": event_kind,
            "body": body,
        }
        os.write(self._file, (json.dumps(event, separators=(",", ":")) + "\n").encode())


class SpoolReader:
    """Reads the complete lines that appeared in a folder's files since the last look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offsets: dict[Path, int] = {}

    def new_events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Pairs of the writer's name (`rank-0`) and the event, in each file's order."""
        for path in sorted(self._folder.glob("*.jsonl")):
            offset = self._offsets.get(path, 0)
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read()
            complete = data[: data.rfind(b"\n") + 1]
            self._offsets[path] = offset + len(complete)
            name = path.stem.rsplit("-", 1)[0]
            for line in complete.splitlines():
                event = _parsed(line)
                if event is not None:
                    yield name, event


def _parsed(line: bytes) -> dict[str, Any] | None:
    """One event, or None for a line that a full disk left in pieces: the lines after it still count."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", event) if isinstance(event, dict) else None
