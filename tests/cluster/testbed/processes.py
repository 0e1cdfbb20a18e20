"""Programs that outlive the call which started them, with a log and a record each in the state folder.

A record holds the process's id and its start time, so that a later process stops what an earlier one, killed
without warning, left behind, and never a stranger that got the same id.
"""

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process, told from a later one with the same id by when it started."""

    pid: int
    started: int  # clock ticks since the machine's start

    @staticmethod
    def of(pid: int) -> "Process":
        """The process that has this id now."""
        return Process(pid, _stat(pid)[1])

    def alive(self) -> bool:
        """Whether it still runs; a child of ours that has ended is reaped."""
        state, started = _stat(self.pid)
        if started != self.started:
            return False
        if state == "Z":
            with contextlib.suppress(ChildProcessError):  # another's to reap
                os.waitpid(self.pid, os.WNOHANG)
        return state not in {"Z", "X"}

    def end(self, how: signal.Signals = signal.SIGKILL, seconds: float = 10) -> bool:
        """Send the signal and say whether the process was gone within the time."""
        deadline = time.monotonic() + seconds
        if self.alive():
            os.kill(self.pid, how)
        # A killed leader is a zombie while its other threads still go: until then its ports are not free.
        while self.alive() or _threads(self.pid) > 1:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def _stat(pid: int) -> tuple[str, int]:
    """A process's state and when it started; none has started at -1."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return "X", -1
    return fields[0], int(fields[19])


def _threads(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return 0


class Programs:
    """The programs of one state folder."""

    def __init__(self, state: Path) -> None:
        """Take the folder; nothing is started or made yet."""
        self.logs = state / "logs"
        self._records = state / "programs"

    def start(self, name: str, *words: object, stdin: int | None = None, **environment: str) -> None:
        """Start a program in a session of its own: a Ctrl-C is for us, who then stop it in order."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self._records.mkdir(parents=True, exist_ok=True)
        argv = [str(word) for word in words]
        log = str(self.logs / f"{name}.log")
        files: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, stdin, 0)
            if stdin is not None
            else (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        pid = os.posix_spawnp(argv[0], argv, {**os.environ, **environment}, file_actions=files, setsid=True)
        record = {"process": Process.of(pid), "words": argv, "environment": environment}
        self._file(name).write_text(json.dumps(record), encoding="utf-8")

    def names(self) -> list[str]:
        """All that were started, the latest first."""
        files = sorted(self._records.glob("*.json"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        return [file.stem for file in files]

    def alive(self, name: str) -> bool:
        """Whether the program runs."""
        return self._file(name).exists() and self.process(name).alive()

    def kill(self, name: str) -> None:
        """End it at once and wait until it is gone: its ports are free then."""
        if not self.process(name).end():
            raise TimeoutError(f"{name} outlives SIGKILL")

    def stop(self, name: str, seconds: float = 3) -> None:
        """Ask it to end, insist if it has not, and forget it."""
        if not self.process(name).end(signal.SIGTERM, seconds):
            self.kill(name)
        self._file(name).unlink()

    def again(self, name: str) -> None:
        """Start a program anew as it was started before."""
        record = self._record(name)
        self.kill(name)
        self.start(name, *record["words"], **record["environment"])

    def tail(self, name: str, lines: int = 20) -> str:
        """The end of its log."""
        text = (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def process(self, name: str) -> Process:
        """The process of a program, running or ended."""
        return Process(*self._record(name)["process"])

    def _file(self, name: str) -> Path:
        return self._records / f"{name}.json"

    def _record(self, name: str) -> dict:
        return json.loads(self._file(name).read_text(encoding="utf-8"))
