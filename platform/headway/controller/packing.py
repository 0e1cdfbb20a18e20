"""The code of a job as one zip file, the same bytes for the same files."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headway.errors import UserError
from headway.units import format_bytes

LARGEST_BYTES = 2_000_000_000
MOST_FILES = 50_000
_LEFT_OUT = frozenset(
    {".git", ".venv", "venv", "__pycache__", "node_modules", ".cache", ".mypy_cache", ".ruff_cache", ".tox"}
)
_DATE = (1980, 1, 1, 0, 0, 0)


def code_files(folder: Path) -> list[Path]:
    """The files that a job may need: what Git would keep, else all but environments and caches."""
    listed = _listed_by_git(folder)
    found = listed if listed is not None else list(_walk(folder))
    return sorted(path for path in found if path.is_file())


def _listed_by_git(folder: Path) -> list[Path] | None:
    words = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        told = subprocess.run(words, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [folder / os.fsdecode(name) for name in told.stdout.split(b"\0") if name]


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in names:
            yield Path(place, name)


def pack(folder: Path) -> tuple[IO[bytes], str]:
    """An open zip file of a folder's code, at its beginning, and its SHA-256.

    Raises:
        UserError: there is too much of it, so that data must be among it.
    """
    files = code_files(folder)
    total = sum(path.stat().st_size for path in files)
    if len(files) > MOST_FILES or total > LARGEST_BYTES:
        limit = f"{MOST_FILES:,} files, {format_bytes(LARGEST_BYTES)}"
        size = f"{len(files):,} files, {format_bytes(total)}"
        raise UserError("packing.too_large", folder=folder, size=size, limit=limit)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            item = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _DATE)
            item.external_attr = (stat.S_IFREG | path.stat().st_mode & 0o777) << 16
            item.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(item, path.read_bytes())
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    return file, digest
