"""The store on a folder: `<folder>/sha256/<aa>/<hash>` and `<folder>/names/<kind>/<name>`."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from headway.blobs.store import check_name
from headway.errors import ExternalError, NotFoundError


class FolderStore:
    """Bytes in files; a rename makes each appear at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, sha256: str) -> Path:
        """Where the bytes of a hash lie, or would lie."""
        return self.folder / "sha256" / sha256[:2] / sha256

    def writer(self) -> FolderWriter:
        """A place for new bytes.

        Raises:
            ExternalError: the folder cannot be written.
        """
        return FolderWriter(self)

    def open(self, sha256: str) -> BinaryIO:
        """The bytes of a hash."""
        try:
            return self.path(sha256).open("rb")
        except FileNotFoundError as error:
            raise NotFoundError("blobs.not_found", digest=sha256) from error

    def size(self, sha256: str) -> int | None:
        """How many bytes a hash has, or None."""
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return None

    def name(self, kind: str, name: str, sha256: str) -> None:
        """Let a name point at a hash."""
        path = self.folder / "names" / check_name(kind) / check_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(path, sha256.encode("ascii"))

    def named(self, kind: str, name: str) -> str | None:
        """The hash that a name points at, or None where there is no such name or its bytes are gone."""
        path = self.folder / "names" / check_name(kind) / check_name(name)
        try:
            sha256 = path.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        return sha256 if self.size(sha256) is not None else None

    def signed_url(self, sha256: str, seconds: int) -> str | None:  # noqa: ARG002 - the port's signature
        """A folder has no address of its own; the gateway signs one."""
        return None


class FolderWriter:
    """Bytes on their way into a folder."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store
        self._digest = hashlib.sha256()
        drafts = store.folder / "drafts"
        try:
            drafts.mkdir(parents=True, exist_ok=True)
            number, name = tempfile.mkstemp(dir=drafts)
        except OSError as error:
            raise ExternalError("blobs.cannot_write", folder=store.folder, cause=error) from error
        self._draft = Path(name)
        self._file = os.fdopen(number, "wb")

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        self._digest.update(data)
        self._file.write(data)

    def commit(self) -> str:
        """Keep what was written, durably; gives its hash."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        sha256 = self._digest.hexdigest()
        path = self._store.path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._draft.rename(path)
        return sha256

    def discard(self) -> None:
        """Forget what was written."""
        self._file.close()
        self._draft.unlink(missing_ok=True)


def _write_whole(path: Path, data: bytes) -> None:
    number, draft = tempfile.mkstemp(dir=path.parent, prefix=".")
    with os.fdopen(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    Path(draft).rename(path)
