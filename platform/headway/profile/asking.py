"""Ask a child process that may import user code: a request on stdin, the answer in a file. Torch-free."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.errors import UserError


def ask(
    module: str, request: Mapping[str, Any], *, name: str, folder: Path, timeout_seconds: float
) -> dict[str, Any]:
    """What a child answers.

    Args:
        module: the child's, run with `python -m`.
        request: as JSON.
        name: of what is asked about, for people.
        folder: where the child runs: the job's directory.
        timeout_seconds: for all of it.

    Raises:
        UserError: the child found a problem, user code raised, or there is no answer in time.
    """
    with tempfile.TemporaryDirectory() as place:
        result = Path(place) / "answer.json"
        try:
            done = subprocess.run(
                [sys.executable, "-m", module, str(result)],
                input=json.dumps(request),
                cwd=folder,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
                capture_output=True,
                text=True,
                timeout=timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UserError("profile.timeout", name=name, seconds=round(timeout_seconds)) from None
        if not result.is_file():
            last = (done.stderr.strip().splitlines() or [""])[-1]
            raise UserError("profile.child_died", name=name, code=done.returncode, last=last)
        answer: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    if "problem" in answer:
        raise UserError(answer["problem"]["message"], **answer["problem"]["values"])
    if "raised" in answer:
        raise UserError("profile.raised", name=name, **answer["raised"])
    return answer
