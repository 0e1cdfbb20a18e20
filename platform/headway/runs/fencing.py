"""A run's storage is written by one attempt at a time: a later attempt's claim fences an earlier one off."""

from __future__ import annotations

from pathlib import Path

from headway.errors import LeaseLostError

LEASE_FILE = "lease"


def claim(run_folder: Path, lease_epoch: int) -> None:
    """State which attempt may write checkpoints of this run from now on."""
    run_folder.mkdir(parents=True, exist_ok=True)
    draft = run_folder / f"{LEASE_FILE}.{lease_epoch}.draft"
    draft.write_text(str(lease_epoch), encoding="ascii")
    draft.rename(run_folder / LEASE_FILE)


def check_lease(run_folder: Path, run_id: str, attempt: int, lease_epoch: int) -> None:
    """Refuse to write when a later attempt has claimed the run's storage.

    Raises:
        LeaseLostError: it has.
    """
    try:
        current = int((run_folder / LEASE_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return  # a run without a supervisor claims nothing
    if current > lease_epoch:
        raise LeaseLostError("runs.lease_lost", run=run_id, attempt=attempt)
