"""Ask for the gradient gate on a job's model, in a child process in the job's directory. Torch-free.

A passed gate is remembered by what it depends on, as a profile is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headway.profile.asking import ask
from headway.profile.stored import key_of
from headway.profile.traced import installed, source_of
from headway.profile.traced_types import TraceRequest

TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Gated:
    """What the gate found: `problems` empty is a pass.

    `worst` names the parameter with the largest difference from the plain model's gradient; `compared`
    counts parameters, `changed` modules by technique; `remembered` tells that it was run before.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    lossy: tuple[str, ...]
    changed: tuple[tuple[str, int], ...]
    compared: int
    worst: str | None
    worst_difference: float | None
    scope: str
    remembered: bool = False

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "passed": not self.problems,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "lossy": list(self.lossy),
            "changed": dict(self.changed),
            "compared_parameters": self.compared,
            "worst_parameter": self.worst,
            "worst_difference": self.worst_difference,
            "scope": self.scope,
        }


def gate_for(request: TraceRequest, *, folder: Path, home: Path, exact: bool) -> Gated:
    """Run the gate, or recall that it passed.

    Args:
        request: the model, the method and the recipe.
        folder: the job's directory.
        home: the installation's folder.
        exact: whether lossy techniques are refused.

    Raises:
        UserError: torch is missing, or the factory is, raises, returns something else, or takes too long.
    """
    source = source_of(request, folder, home)
    key = key_of(request, installed(request), f"gate {exact} {source} {_ourselves()}")
    path = home / "gates" / f"{key}.json"
    # What a factory imports and reads beside its own file is not known: its models are compared each time.
    known = _recalled(path) if not request.factory else None
    if known is not None:
        return known
    found = ask(
        "headway.profile.gate_child",
        {"trace": request.to_data(), "exact": exact},
        name=request.name,
        folder=folder,
        timeout_seconds=TIMEOUT_SECONDS,
    )
    if found["report"] and not found["report"]["problems"]:
        _remember(path, found["report"])
    return _gated(found["report"], remembered=False)


def _remember(path: Path, report: Mapping[str, Any]) -> None:
    """Keep a pass; where the folder cannot be written the gate is run again next time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            json.dump(report, file)
        os.replace(file.name, path)  # noqa: PTH105 - atomic on one file system


def _ourselves() -> str:
    """The content of the rooms that the gate checks: another version of ours is checked anew."""
    room = Path(__file__).parents[1] / "memory"
    digest = hashlib.sha256()
    for path in sorted(room.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _recalled(path: Path) -> Gated | None:
    try:
        return _gated(json.loads(path.read_text(encoding="utf-8")), remembered=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _gated(report: Mapping[str, Any], *, remembered: bool) -> Gated:
    compared = cast("list[dict[str, Any]]", report["compared"])
    worst = max(compared, key=lambda item: item["difference"], default=None)
    return Gated(
        problems=tuple(report["problems"]),
        notes=tuple(report["notes"]),
        lossy=tuple(report["lossy"]),
        changed=tuple((name, int(count)) for name, count in report["changed"]),
        compared=len(compared),
        worst=None if worst is None else str(worst["name"]),
        worst_difference=None if worst is None else float(worst["difference"]),
        scope=str(report["scope"]),
        remembered=remembered,
    )
