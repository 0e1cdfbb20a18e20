"""What one worker prints, kept as a stream of its own beside the driver's log: `rank-<k>.log`.

Everything that reaches the worker's two outputs goes there, also what C libraries write (NCCL), and on to
where it went before. A small process of its own copies it: the last words of a worker that is killed are in
the pipe and are kept, and no lock of the worker's can stand in the way of its printing.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path

CHUNK_BYTES = 1 << 16
END_SECONDS = 5.0
_OUTPUTS = (1, 2)


class RankLog:
    """Copies both outputs of this process from when it is made until it is closed."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._before = [os.dup(fd) for fd in _OUTPUTS]
        pipes = [os.pipe() for _ in _OUTPUTS]
        sources = [read for read, _write in pipes]
        # By its file, and isolated: it needs nothing but the standard library, and is there at once.
        self._copier = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(path), *map(str, sources)],
            stdin=subprocess.DEVNULL,
            stdout=self._before[0],
            stderr=self._before[1],
            pass_fds=sources,
            start_new_session=True,  # a Ctrl-C is for the worker; this ends when the worker has
        )
        _flush()
        for fd, (read, write) in zip(_OUTPUTS, pipes, strict=True):
            os.dup2(write, fd)
            os.close(write)
            os.close(read)

    def close(self) -> None:
        """Print as before again; what was printed until now is kept when this returns."""
        _flush()
        for fd, before in zip(_OUTPUTS, self._before, strict=True):
            os.dup2(before, fd)
            os.close(before)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a child of the worker's prints on
            self._copier.wait(END_SECONDS)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def copy(path: str, sources: list[int]) -> None:
    """Copy each source to its output, and both to the file, until all writers have gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        print(f"headway: not kept by rank: {error}", flush=True)
        file = os.open(os.devnull, os.O_WRONLY)
    with selectors.DefaultSelector() as selector:
        for source, output in zip(sources, _OUTPUTS, strict=True):
            selector.register(source, selectors.EVENT_READ, output)
        while selector.get_map():
            for key, _events in selector.select():
                data = os.read(key.fd, CHUNK_BYTES)
                if not data:
                    selector.unregister(key.fd)
                for target in (file, key.data):
                    _write(target, data)


def _write(target: int, data: bytes) -> None:
    """All of it, or as much as the disk takes: the other copy, and the worker, go on."""
    rest = memoryview(data)
    with contextlib.suppress(OSError):
        while rest:
            rest = rest[os.write(target, rest) :]


if __name__ == "__main__":
    copy(sys.argv[1], [int(word) for word in sys.argv[2:]])
