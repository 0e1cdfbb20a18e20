"""The other end of `headway.profile.asking`: read the request, keep user prints apart, answer in a file."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError

PR_SET_PDEATHSIG = 1


def answer(work: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """Do the work that stdin asks for; what goes wrong is an answer too."""
    # This process ends with the one that asked: nobody else waits for the answer.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    result = Path(sys.argv[1])
    request = json.load(sys.stdin)
    os.dup2(2, 1)
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Mapping[str, Any] = work(request)
    except HeadwayError as problem:
        values = {key: str(value) for key, value in problem.values.items()}
        found = {"problem": {"message": problem.message, "values": values}}
    except Exception as problem:  # noqa: BLE001 - user code may raise anything
        found = {"raised": described(problem)}
    result.write_text(json.dumps(found), encoding="utf-8")


def described(problem: BaseException) -> dict[str, str]:
    """The innermost place in the user's own files (those under the working directory), else the last one."""
    frames = traceback.extract_tb(problem.__traceback__)
    folder = str(Path.cwd())
    own = [
        frame
        for frame in frames
        if frame.filename.startswith(folder) and "site-packages" not in frame.filename
    ]
    frame = (own or list(frames))[-1]
    file = frame.filename.removeprefix(folder).lstrip("/") if own else frame.filename
    lines = str(problem).splitlines()
    said = lines[0] if lines else ""
    return {"place": f"{file}:{frame.lineno}", "what": f"{type(problem).__name__}: {said}".rstrip(": ")}
