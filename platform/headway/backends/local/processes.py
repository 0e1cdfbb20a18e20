"""Which processes belong to an attempt.

Every process of an attempt carries `HEADWAY_MARK=<run>-a<n>` in its environment, inherited by all it
starts. The mark finds them even after whoever started them is gone.
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from headway.runs.environment import MARK


def marked(mark: str, proc: Path = Path("/proc")) -> list[psutil.Process]:
    """The live processes of an attempt, the calling one and zombies left out."""
    needle = f"{MARK}={mark}".encode()
    found: list[psutil.Process] = []
    for entry in proc.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if needle not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            process = psutil.Process(int(entry.name))
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (OSError, psutil.Error):
            continue  # it ended meanwhile, or is another user's
    return found
