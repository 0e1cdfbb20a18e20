"""Leases: who owns a running attempt, and whether that owner still lives.

`lease_epoch` is a fencing token: checkpoint and state writes compare it, so a supervisor that was given up
on cannot write over its successor. A holder on this machine is checked by process id and start time; any
other only by the lease's expiry.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil
from sqlalchemy import Connection, update

from headway.errors import LeaseLostError
from headway.runs import tables
from headway.runs.store import Ledger

LEASE_MICROSECONDS = 15_000_000
RENEW_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds leases: host, process id, and start time, since ids are used again."""

    host: str
    pid: int
    started: str

    @classmethod
    def me(cls) -> Holder:
        """The calling process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Holder:
        """A process of this machine; it must still be there, if only as a zombie."""
        process = psutil.Process(pid)
        return cls(socket.gethostname(), process.pid, _started(process))

    @classmethod
    def parse(cls, text: str) -> Holder:
        """The holder as `str()` wrote it."""
        host, pid, started = text.rsplit("/", 2)
        return cls(host, int(pid), started)

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.started}"

    def is_local(self) -> bool:
        """Whether the holder runs (or ran) on this machine."""
        return self.host == socket.gethostname()

    def process(self) -> psutil.Process | None:
        """The live process itself, or None when it is gone (or a zombie)."""
        try:
            process = psutil.Process(self.pid)
            if _started(process) != self.started or process.status() == psutil.STATUS_ZOMBIE:
                return None
        except psutil.Error:
            return None
        return process


def _started(process: psutil.Process) -> str:
    """When a process started: in ticks since boot where the kernel says so.

    A time of day would change with the clock, and a live owner would look like another process.
    """
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return f"{process.create_time():.2f}"
    return stat.rpartition(")")[2].split()[19]


def is_expired(holder_text: str, expires_at: int, now: int) -> bool:
    """Whether an attempt's owner must be given up on.

    A local owner that is dead has expired at once; one that is alive and not stopped keeps its lease even
    past its time, as after a laptop's sleep.
    """
    holder = Holder.parse(holder_text)
    if holder.is_local():
        process = holder.process()
        if process is None:
            return True
        try:
            return now > expires_at and process.status() == psutil.STATUS_STOPPED
        except psutil.Error:
            return True
    return now > expires_at


def renew(ledger: Ledger, run_id: str, attempt: int, lease_epoch: int, now: int) -> None:
    """Hold the lease for another term.

    Raises:
        LeaseLostError: somebody else has taken the attempt over.
    """
    with ledger.write() as connection:
        table = tables.attempt
        changed = connection.execute(
            update(table)
            .where(
                (table.c.run_id == run_id)
                & (table.c.n == attempt)
                & (table.c.lease_epoch == lease_epoch)
                & table.c.ended.is_(None)
            )
            .values(lease_expires_at=now + LEASE_MICROSECONDS)
        ).rowcount
    if changed != 1:
        raise LeaseLostError("runs.lease_lost", run=run_id, attempt=attempt)


def take_over(connection: Connection, run_id: str, attempt: int, lease_epoch: int) -> bool:
    """Fence the owner off by raising the epoch, if it is still the one that was seen; says whether it was."""
    table = tables.attempt
    return (
        connection.execute(
            update(table)
            .where(
                (table.c.run_id == run_id)
                & (table.c.n == attempt)
                & (table.c.lease_epoch == lease_epoch)
                & table.c.ended.is_(None)
            )
            .values(lease_epoch=lease_epoch + 1)
        ).rowcount
        == 1
    )
