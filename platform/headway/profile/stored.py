"""Profiles on disk, by the content they depend on: another model, recipe or library is another profile."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from headway.errors import UserError
from headway.profile.traced_types import FORMAT, TracedProfile, TraceRequest, Versions, traced_profile_of


def key_of(request: TraceRequest, versions: Versions, source: str) -> str:
    """The sha256 of all that a profile depends on.

    Args:
        request: what is traced.
        versions: of libraries, and the loss kernel.
        source: the content of the factory's file, or the whole configuration of a model.
    """
    parts = [
        FORMAT, request.to_data(), [versions.torch, versions.transformers, versions.loss_kernel], source
    ]  # fmt: skip
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def folder_in(home: Path) -> Path:
    """Where an installation keeps its profiles."""
    return home / "profiles"


def load(folder: Path, key: str) -> tuple[TracedProfile | None, str]:
    """The stored profile, or None with the reason (empty where there simply is none)."""
    path = folder / f"{key}.json"
    try:
        return traced_profile_of(json.loads(path.read_text(encoding="utf-8"))), ""
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UserError) as problem:
        return None, f"{path}: {type(problem).__name__}: {problem}"


def store(folder: Path, key: str, profile: TracedProfile) -> Path:
    """Write a profile, whole or not at all; its path.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.json"
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False, encoding="utf-8") as file:
        json.dump(profile.to_data(), file, indent=1)
    os.replace(file.name, path)  # noqa: PTH105 - atomic on one file system
    return path
