"""The store in an S3 bucket: the same layout as on a folder, below a prefix."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from headway.blobs.store import check_name
from headway.errors import ExternalError, NotFoundError

_IN_MEMORY_BYTES = 16 << 20


def _s3_client() -> Any:  # noqa: ANN401 - boto3 makes its classes at run time
    import boto3

    return boto3.client("s3")


class S3Store:
    """Bytes as objects; an object appears when its upload is whole."""

    def __init__(self, url: str, make_client: Callable[[], Any] = _s3_client) -> None:
        self.bucket, _, prefix = url.removeprefix("s3://").partition("/")
        self.prefix = f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else ""
        self.client = make_client()

    def _key(self, sha256: str) -> str:
        return f"{self.prefix}sha256/{sha256[:2]}/{sha256}"

    def writer(self) -> S3Writer:
        """A place for new bytes."""
        return S3Writer(self)

    def open(self, sha256: str) -> BinaryIO:
        """The bytes of a hash, streamed."""
        answer = self._ask(lambda: self.client.get_object(Bucket=self.bucket, Key=self._key(sha256)))
        if answer is None:
            raise NotFoundError("blobs.not_found", digest=sha256)
        return cast("BinaryIO", answer["Body"])

    def size(self, sha256: str) -> int | None:
        """How many bytes a hash has, or None."""
        answer = self._ask(lambda: self.client.head_object(Bucket=self.bucket, Key=self._key(sha256)))
        return None if answer is None else int(answer["ContentLength"])

    def name(self, kind: str, name: str, sha256: str) -> None:
        """Let a name point at a hash."""
        key = f"{self.prefix}names/{check_name(kind)}/{check_name(name)}"
        self._ask(lambda: self.client.put_object(Bucket=self.bucket, Key=key, Body=sha256.encode("ascii")))

    def named(self, kind: str, name: str) -> str | None:
        """The hash that a name points at, or None where there is no such name or its bytes are gone."""
        key = f"{self.prefix}names/{check_name(kind)}/{check_name(name)}"
        answer = self._ask(lambda: self.client.get_object(Bucket=self.bucket, Key=key))
        if answer is None:
            return None
        sha256 = answer["Body"].read().decode("ascii")
        return sha256 if self.size(sha256) is not None else None

    def signed_url(self, sha256: str, seconds: int) -> str | None:
        """An address from which anybody can fetch the bytes for a while."""
        where = {"Bucket": self.bucket, "Key": self._key(sha256)}
        return str(self.client.generate_presigned_url("get_object", Params=where, ExpiresIn=seconds))

    def upload(self, file: BinaryIO, sha256: str) -> None:
        """Keep a file's bytes under their hash."""
        self._ask(lambda: self.client.upload_fileobj(file, self.bucket, self._key(sha256)))

    def _ask(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - boto3's answers are plain dicts
        """What S3 answers; None where there is no such object.

        Raises:
            ExternalError: S3 refuses or cannot be reached.
        """
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call()
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in {"404", "NoSuchKey", "NotFound"}:
                return None
            raise ExternalError("blobs.s3", bucket=self.bucket, cause=error) from error
        except (BotoCoreError, Boto3Error) as error:
            raise ExternalError("blobs.s3", bucket=self.bucket, cause=error) from error


class S3Writer:
    """Bytes on their way into a bucket: they wait on this machine until their hash is known."""

    def __init__(self, store: S3Store) -> None:
        self._store = store
        self._digest = hashlib.sha256()
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115 - closed below

    def write(self, data: bytes) -> None:
        """Take the next bytes."""
        self._digest.update(data)
        self._file.write(data)

    def commit(self) -> str:
        """Keep what was written; gives its hash."""
        sha256 = self._digest.hexdigest()
        if self._store.size(sha256) is None:
            self._file.seek(0)
            self._store.upload(cast("BinaryIO", self._file), sha256)
        self._file.close()
        return sha256

    def discard(self) -> None:
        """Forget what was written."""
        self._file.close()
