"""Ask for a traced profile: from the store, else from a child process in the job's directory. Torch-free."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headway.errors import UserError
from headway.profile.asking import ask
from headway.profile.configs import short_names
from headway.profile.stored import folder_in, key_of, load, store
from headway.profile.traced_types import TracedProfile, TraceRequest, Versions, traced_profile_of

TIMEOUT_SECONDS = 300.0


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
    key = key_of(request, installed(request), source_of(request, folder))
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
    store(folder_in(home), key, profile)
    return Found(profile, stored=False, ignored=reason)


def stored_profile(request: TraceRequest, *, folder: Path, home: Path) -> Found | None:
    """The stored profile of a request, or None: nothing is traced."""
    try:
        key = key_of(request, installed(request), source_of(request, folder))
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


def source_of(request: TraceRequest, folder: Path) -> str:
    """The content that a profile depends on: all Python files beside a factory's, or a configuration."""
    if not request.factory:
        return json.dumps(short_names().get(request.model.lower(), {}), sort_keys=True)
    path = folder.joinpath(*request.factory.partition(":")[0].split("."))
    beside = sorted(path.parent.glob("*.py")) if path.parent.is_dir() else []
    return "\0".join(f"{file.name}\0{file.read_text(encoding='utf-8', errors='replace')}" for file in beside)
