"""Packages of code: zip files, unpacked into a folder of their own."""

from __future__ import annotations

import shutil
import stat
import tempfile
import zipfile
from pathlib import Path
from typing import IO

from headway.blobs.store import Opener
from headway.errors import UserError

KIND = "packages"
_MODE = 0o777
_COPY_BYTES = 1 << 20


def package_name(uri: str) -> str | None:
    """The name of an uploaded package's URI (`gcs://name.zip`), or None for any other URI."""
    scheme, _, name = uri.partition("://")
    return name if scheme == "gcs" and name else None


def unpack(store: Opener, sha256: str, folder: Path) -> Path:
    """Unpack a package; done already is done. Files appear in the folder all at once.

    Raises:
        NotFoundError: the store does not have it.
        UserError: it is no zip file, or a file in it would land outside the folder.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        with store.open(sha256) as stream, tempfile.TemporaryFile() as file:
            shutil.copyfileobj(stream, file, _COPY_BYTES)
            _extract(file, draft)
        draft.chmod(0o755)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return folder


def _extract(file: IO[bytes], folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            for item in archive.infolist():
                if stat.S_ISLNK(item.external_attr >> 16) or not _stays_inside(item.filename):
                    raise UserError("blobs.unsafe_package", name=item.filename)
                target = archive.extract(item, folder)
                if mode := (item.external_attr >> 16) & _MODE:
                    Path(target).chmod(mode | stat.S_IRUSR | (stat.S_IXUSR if item.is_dir() else 0))
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        if isinstance(error, OSError) and not isinstance(error, zipfile.BadZipFile):
            raise
        raise UserError("blobs.not_zip", cause=error) from error


def _stays_inside(name: str) -> bool:
    return not name.startswith(("/", "\\")) and ".." not in Path(name).parts and "\0" not in name
