"""The store that an installation uses, from its setting: an `s3://` address or a folder."""

from __future__ import annotations

from pathlib import Path

from headway.blobs.folder import FolderStore
from headway.blobs.store import BlobStore


def open_store(setting: str, home: Path) -> BlobStore:
    """The store; without a setting, a folder in the home."""
    if setting.startswith("s3://"):
        from headway.blobs.s3 import S3Store

        return S3Store(setting)
    return FolderStore(Path(setting).expanduser().absolute() if setting else home / "blobs")
