"""One owner per run on this machine: a lock that its process holds for as long as it lives."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

_FILE = "owner.lock"


def take(run_folder: Path) -> IO[bytes] | None:
    """Become the run's owner until this process ends; None where another process is."""
    run_folder.mkdir(parents=True, exist_ok=True)
    file = (run_folder / _FILE).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def is_owned(run_folder: Path) -> bool:
    """Whether some process owns the run."""
    if not (run_folder / _FILE).exists():
        return False
    file = take(run_folder)
    if file is None:
        return True
    file.close()
    return False
