"""Checkpoints that prove themselves: every rank writes its files and, last, a manifest of their hashes.

A checkpoint is complete when each of `world_size` manifests is there and every file has the size and
SHA-256 that its manifest states. Restoring takes the newest complete one; an incomplete or damaged one is
passed over. Writing compares the attempt's lease: an attempt that was given up on cannot write.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one rank wrote: `files` maps a name to (size in bytes, SHA-256)."""

    run_id: str
    attempt: int
    lease_epoch: int
    step: int
    rank: int
    world_size: int
    files: dict[str, tuple[int, str]]


def manifest_name(rank: int) -> str:
    """The file that a rank writes last."""
    return f"manifest-rank-{rank}.json"


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> str:
    """Write a rank's manifest durably; gives its SHA-256."""
    path = folder / manifest_name(manifest.rank)
    data = _encode(manifest)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(data).hexdigest()


def _encode(manifest: Manifest) -> bytes:
    """A manifest's bytes, its own hash among them: a manifest proves itself too."""
    body = json.dumps(asdict(manifest), sort_keys=True)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return json.dumps({"manifest": asdict(manifest), "sha256": digest}, sort_keys=True).encode()


def describe_files(folder: Path) -> dict[str, tuple[int, str]]:
    """Size and hash of every file in a folder, manifests left out."""
    return {
        path.name: (path.stat().st_size, file_sha256(path))
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith("manifest-rank-")
    }


def read_manifest(folder: Path, rank: int) -> Manifest | None:
    """A rank's manifest, or None where it is missing, damaged or another rank's."""
    try:
        raw = (folder / manifest_name(rank)).read_bytes()
        data = json.loads(raw)["manifest"]
        data["files"] = {name: (int(size), str(sha)) for name, (size, sha) in data["files"].items()}
        manifest = Manifest(**data)
        return manifest if manifest.rank == rank and _encode(manifest) == raw else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def is_complete(folder: Path) -> bool:
    """Whether every rank's files are there, whole and of one and the same attempt and step."""
    first = read_manifest(folder, 0)
    if first is None:
        return False
    for rank in range(first.world_size):
        manifest = read_manifest(folder, rank)
        if manifest is None or replace(manifest, rank=0, files=first.files) != first:
            return False
        for name, (size, sha) in manifest.files.items():
            path = folder / name
            if not path.is_file() or path.stat().st_size != size or file_sha256(path) != sha:
                return False
    return True


def newest_complete(run_folder: Path) -> Path | None:
    """The checkpoint to resume from: the highest step that is complete, or None."""
    return next((folder for folder in _newest_first(run_folder) if is_complete(folder)), None)


def _newest_first(run_folder: Path) -> Iterator[Path]:
    if not run_folder.is_dir():
        return
    found = [
        (manifest.step, manifest.attempt, folder)
        for folder in run_folder.iterdir()
        if folder.is_dir() and (manifest := read_manifest(folder, 0)) is not None
    ]
    for _step, _attempt, folder in sorted(found, reverse=True):
        yield folder
