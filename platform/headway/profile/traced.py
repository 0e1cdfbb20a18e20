"""Ask for a traced profile: from the store, else from a child process in the job's directory. Torch-free."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headway.errors import UserError
from headway.profile.asking import ask
from headway.profile.configs import short_names
from headway.profile.stored import folder_in, key_of, load, store
from headway.profile.traced_types import TracedProfile, TraceRequest, Versions, traced_profile_of

TIMEOUT_SECONDS = 300.0
MOST_FILES, MOST_BYTES = 2000, 1_000_000
_READ = {".py", ".json", ".yaml", ".yml", ".toml", ".cfg", ".ini"}
_SKIPPED = {"node_modules", "__pycache__", "venv"}


@dataclass(frozen=True, slots=True)
class Found:
    """A profile, whether it was stored already, and why a stored one was not used (else empty)."""

    profile: TracedProfile
    stored: bool
    ignored: str = ""


def profile_for(
    request: TraceRequest, *, folder: Path, home: Path, timeout_seconds: float = TIMEOUT_SECONDS
) -> Found:
    """The profile of a request.

    Args:
        request: what to trace.
        folder: the job's directory, from which a factory is resolved.
        home: the installation's folder; profiles are kept under it.
        timeout_seconds: for a trace.

    Raises:
        UserError: torch is missing, or the factory is, raises, returns something else, or takes too long.
    """
    key = key_of(request, installed(request), source_of(request, folder, home))
    known, reason = load(folder_in(home), key)
    if known is not None:
        return Found(known, stored=True)
    answer = ask(
        "headway.profile.child",
        request.to_data(),
        name=request.name,
        folder=folder,
        timeout_seconds=timeout_seconds,
    )
    profile = traced_profile_of(answer["profile"])
    try:
        store(folder_in(home), key, profile)
    except OSError as problem:
        return Found(profile, stored=False, ignored=f"{problem}")
    return Found(profile, stored=False, ignored=reason)


def stored_profile(request: TraceRequest, *, folder: Path, home: Path) -> Found | None:
    """The stored profile of a request, or None: nothing is traced."""
    try:
        key = key_of(request, installed(request), source_of(request, folder, home))
    except UserError:
        return None
    known, _reason = load(folder_in(home), key)
    return None if known is None else Found(known, stored=True)


def installed(request: TraceRequest) -> Versions:
    """The versions that a trace would have, without importing the libraries.

    Raises:
        UserError: torch is not installed.
    """
    found: list[str] = []
    for name in ("torch", "transformers"):
        try:
            found.append(version(name))
        except PackageNotFoundError:
            raise UserError("profile.no_library", name=name) from None
    kernel = "chunked" if "fused_loss" in request.recipe.layers else "torch cross_entropy"
    return Versions(found[0], found[1], kernel)


def source_of(request: TraceRequest, folder: Path, home: Path) -> str:
    """What a profile depends on: code and settings under the job's directory, or a configuration."""
    if not request.factory:
        return json.dumps(short_names().get(request.model.lower(), {}), sort_keys=True)
    return "\0".join(
        f"{file.relative_to(folder)}\0{file.read_text(encoding='utf-8', errors='replace')}"
        for file in _beside(folder, home.resolve())
    )


def _beside(folder: Path, home: Path) -> list[Path]:
    """Code and settings under a job's directory, which a factory may read: none hidden, huge or ours."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        kept = (name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        folders[:] = sorted(name for name in kept if Path(place, name).resolve() != home)
        paths = [Path(place, name) for name in sorted(names) if Path(name).suffix in _READ]
        found += [path for path in paths if path.is_file() and path.stat().st_size <= MOST_BYTES]
        if len(found) > MOST_FILES:
            break
    return found
