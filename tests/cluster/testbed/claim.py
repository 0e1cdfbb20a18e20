"""One cluster at a time on a machine: its addresses, bridge and iptables chains are fixed.

A keeper process holds the lock while the cluster is up. Where tests own the cluster, the keeper takes it down
when they end in any way, even by SIGKILL.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import IO

from testbed import host
from testbed.processes import Process, Programs

LOCK = Path("/tmp/headway-testbed.lock")
PATIENCE_SECONDS = 840.0


class BusyError(RuntimeError):
    """Another cluster has the machine."""


def claim(state: Path, owner: Process | None) -> IO[str]:
    """Get the machine for one cluster, waiting for other tests' to end, and clear what a dead one left."""
    lock = LOCK.open("a+", encoding="utf-8")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            holder = _holder()
            if holder["owned"] is False or time.monotonic() > deadline:
                lock.close()
                raise BusyError(
                    f"a cluster is up already: export KUBECONFIG={holder['state']}/admin.kubeconfig "
                    "to test in it, or `make cluster-down`"
                ) from None
            time.sleep(1)
    for folder in {Path(_holder()["state"] or state), state}:
        host.sweep(folder)
        for name in ("programs", "logs"):
            shutil.rmtree(folder / name, ignore_errors=True)
    if host.chains():
        lock.close()
        raise BusyError("this machine is a Kubernetes node already (iptables has chains named KUBE-)")
    lock.truncate(0)
    lock.write(json.dumps({"state": str(state), "owned": owner is not None}))
    lock.flush()
    return lock


def _holder() -> dict:
    try:
        return json.loads(LOCK.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"state": "", "owned": None}


def start_keeper(state: Path, lock: IO[str], owner: Process | None) -> None:
    """Start the process that holds the lock from now on."""
    folder = Path(__file__).parents[1]
    words = [sys.executable, "-m", "testbed", "keep", *(map(str, owner or ()))]
    more = {"PYTHONPATH": str(folder), "HEADWAY_TESTBED_STATE": str(state)}
    Programs(state).start("keeper", *words, stdin=lock.fileno(), **more)


def keep(state: Path, owner: Process | None) -> None:
    """Hold the lock, which is our standard input; clear all away when the owner is no more."""
    if owner is None:
        signal.pause()
        return
    with contextlib.suppress(ProcessLookupError):
        gone = os.pidfd_open(owner.pid)
        if owner.alive():
            select.select([gone], [], [])
    host.sweep(state)
