"""Driving the real product: the installed `headway`, real Ray, a ledger of its own for each test."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil

BIN = Path(sys.executable).parent
JOBS = Path(__file__).parent / "jobs"


class Headway:
    """The command line with its own HEADWAY_HOME."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {**os.environ, "HEADWAY_HOME": str(home), "HEADWAY_LANG": "en"}
        self.env.pop("RAY_ADDRESS", None)

    def call(self, *words: str, timeout: float = 240, cwd: Path = JOBS) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [str(BIN / "headway"), *words],
            env=self.env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def ok(self, *words: str, timeout: float = 240, cwd: Path = JOBS) -> str:
        """Run a command that must succeed; gives its stdout."""
        done = self.call(*words, timeout=timeout, cwd=cwd)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *words: str) -> dict[str, Any]:
        """Run a command that must succeed and parse what it says."""
        return json.loads(self.ok(*words, "-o", "json"))

    def start(self, *words: str, cwd: Path = JOBS) -> str:
        """Start a run detached; gives its id."""
        return self.ok("run", "-d", *words, cwd=cwd).strip().splitlines()[-1]

    def peek(self, run_id: str) -> dict[str, Any]:
        """State, reason and step, straight from the ledger: waiting must not load the machine."""
        with sqlite3.connect(f"file:{self.home / 'ledger.db'}?mode=ro", uri=True) as ledger:
            row = ledger.execute("SELECT state, reason FROM run WHERE id = ?", (run_id,)).fetchone()
            step = ledger.execute("SELECT max(step) FROM progress WHERE run_id = ?", (run_id,)).fetchone()[0]
        return {"state": row[0], "reason": row[1], "step": step}

    def until(
        self, run_id: str, what: Callable[[dict[str, Any]], bool], timeout: float = 400
    ) -> dict[str, Any]:
        """Wait until the run is so; gives what `show` then tells."""
        deadline = time.monotonic() + timeout
        while not what(seen := self.peek(run_id)):
            if time.monotonic() > deadline:
                log = self.call("logs", run_id).stdout[-3000:]
                raise AssertionError(f"{run_id} never came there: {seen}\n{log}")
            time.sleep(0.1)
        return self.json("show", run_id)

    def until_step(self, run_id: str, step: int) -> None:
        """Wait until the run has reached a step, and not a moment longer."""
        deadline = time.monotonic() + 400
        while (self.peek(run_id)["step"] or 0) < step:
            assert time.monotonic() < deadline, self.call("logs", run_id).stdout[-3000:]
            time.sleep(0.05)

    def until_ended(self, run_id: str) -> dict[str, Any]:
        """Wait until the run has ended."""
        return self.until(
            run_id, lambda shown: shown["state"] in {"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}
        )

    def receipt(self, run_id: str) -> dict[str, Any]:
        """The receipt; proves on the way that it holds."""
        self.ok("receipt", run_id, "--verify")
        return self.json("receipt", run_id)


def processes_of(run_id: str) -> list[psutil.Process]:
    """Every live process that belongs to a run, its supervisor too."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = process.cmdline()
            marked = process.environ().get("HEADWAY_MARK", "").startswith(run_id)
        except psutil.Error:
            continue
        if marked or (run_id in words and "headway.controller.supervisor" in words):
            found.append(process)
    return found


def no_process_left(run_id: str, within: float = 60) -> None:
    """Fail unless every process of the run is gone in time."""
    deadline = time.monotonic() + within
    while (left := processes_of(run_id)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, [(process.pid, process.cmdline()[:4]) for process in left]


def kill(run_id: str, *, containing: str) -> None:
    """SIGKILL the first process of the run whose command line contains some words."""
    for process in processes_of(run_id):
        if containing in " ".join(process.cmdline()):
            process.send_signal(signal.SIGKILL)
            return
    raise AssertionError(f"no process of {run_id} with {containing!r}")


def total_of(receipt: dict[str, Any]) -> Decimal:
    """The receipt's one total."""
    assert len(receipt["totals"]) == 1
    return Decimal(receipt["totals"][0]["amount"])
