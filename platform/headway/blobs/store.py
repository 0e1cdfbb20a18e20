"""A content-addressed store: bytes are found by their SHA-256, and names point at a hash.

What is in it is whole: bytes appear under their hash only when all of them have arrived.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from headway.errors import UserError

SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}")
CHUNK_BYTES = 1 << 20


class Writer(Protocol):
    """Takes bytes; `commit` gives their hash, `discard` forgets them."""

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        ...

    def commit(self) -> str:
        """Keep what was written; gives its SHA-256."""
        ...

    def discard(self) -> None:
        """Forget what was written; nothing after a commit."""
        ...


class Opener(Protocol):
    """Gives the bytes of a hash."""

    def open(self, sha256: str) -> BinaryIO:
        """The bytes of a hash, from their beginning.

        Raises:
            NotFoundError: they are not there.
        """
        ...


class BlobStore(Opener, Protocol):
    """The port: a folder (`headway.blobs.folder`) or S3 (`headway.blobs.s3`)."""

    def writer(self) -> Writer:
        """A place for new bytes."""
        ...

    def size(self, sha256: str) -> int | None:
        """How many bytes a hash has, or None where the store does not have it."""
        ...

    def name(self, kind: str, name: str, sha256: str) -> None:
        """Let a name point at a hash."""
        ...

    def named(self, kind: str, name: str) -> str | None:
        """The hash that a name points at, or None."""
        ...

    def signed_url(self, sha256: str, seconds: int) -> str | None:
        """An address from which anybody can fetch the bytes for a while; None where the store has none."""
        ...


def check_name(name: str) -> str:
    """The name itself, if it is one.

    Raises:
        UserError: it has characters that a file name or an object key should not have.
    """
    if not _NAME.fullmatch(name):
        raise UserError("blobs.bad_name", name=name[:80])
    return name


def put(store: BlobStore, data: bytes) -> str:
    """Keep bytes that are at hand; gives their hash."""
    writer = store.writer()
    writer.write(data)
    return writer.commit()


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """A file's bytes, a megabyte at a time."""
    while data := file.read(CHUNK_BYTES):
        yield data
