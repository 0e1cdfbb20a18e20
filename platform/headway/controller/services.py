"""The local trio: gateway, controller and dashboard, detached; a later command finds them again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from headway.errors import ExternalError
from headway.runs.lease import Holder
from headway.settings import Settings

NAMES = ("gateway", "controller", "dashboard")
STOP_SECONDS = 10.0
READY_SECONDS = 60.0
_TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True)
class Service:
    """One of the three: who it is, and where it answers."""

    name: str
    holder: str
    url: str | None
    log: str

    @property
    def process(self) -> psutil.Process | None:
        """The live process, or None."""
        return Holder.parse(self.holder).process()

    @property
    def is_answering(self) -> bool:
        """Whether it answers over HTTP; of one without an address, whether it lives."""
        return self.process is not None and (self.url is None or _answers(self.url))


def _folder(settings: Settings) -> Path:
    return settings.home / "services"


def find(settings: Settings, name: str) -> Service | None:
    """The service as it was started last, if it still lives."""
    try:
        data = json.loads((_folder(settings) / f"{name}.json").read_text(encoding="utf-8"))
        service = Service(**data)
    except (OSError, ValueError, TypeError):
        return None
    return service if service.process is not None else None


def start(settings: Settings, name: str, words: Sequence[str], url: str | None) -> Service:
    """Start a service detached, and wait until it answers; one that lives already is left as it is.

    Raises:
        ExternalError: it ended, or did not answer in time; what it said is part of the message.
    """
    known = find(settings, name)
    if known is not None:
        return known
    folder = _folder(settings)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.log"
    with path.open("ab") as log:
        begins = log.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "HEADWAY_HOME": str(settings.home)},
        )
    service = Service(name, str(Holder.of(process.pid)), url, str(path))
    draft = folder / f".{name}.draft"
    draft.write_text(json.dumps(asdict(service)), encoding="utf-8")
    draft.rename(folder / f"{name}.json")
    deadline = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if service.is_answering:
            return service
        time.sleep(0.1)
    process.kill()
    said = path.read_bytes()[begins:][-_TAIL_BYTES:].decode(errors="replace").strip()
    raise ExternalError("services.not_started", name=name, said=said or "-", log=path)


def stop(settings: Settings, name: str) -> bool:
    """End a service; says whether it lived."""
    service = find(settings, name)
    if service is None:
        return False
    process = service.process
    if process is not None:
        with contextlib.suppress(psutil.Error):
            children = process.children(recursive=True)
            process.send_signal(signal.SIGTERM)
            _gone, alive = psutil.wait_procs([process], timeout=STOP_SECONDS)
            for left in (*alive, *(child for child in children if child.is_running())):
                if left is process or name == "dashboard":
                    left.kill()
    (_folder(settings) / f"{name}.json").unlink(missing_ok=True)
    return True


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:  # noqa: S310 - our own address
            return answer.status == 200
    except urllib.error.HTTPError:
        return True  # it answers, if only to say no
    except (OSError, ValueError):
        return False
