"""What every command that reads the ledger begins with: settings, the ledger, and the books closed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from headway.controller.reaper import reap
from headway.runs.store import Ledger
from headway.settings import Settings


@dataclass(frozen=True, slots=True)
class Session:
    """Settings and an open ledger whose lost runs have been closed."""

    settings: Settings
    ledger: Ledger


@contextmanager
def session() -> Generator[Session]:
    """Open the ledger, close the books of runs whose supervisor is gone, and let go of it at the end."""
    settings = Settings.load()
    ledger = Ledger.at(settings.ledger_path)
    try:
        reap(settings, ledger)
        yield Session(settings, ledger)
    finally:
        ledger.close()
