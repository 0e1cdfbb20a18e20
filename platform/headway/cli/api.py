"""The run API of a gateway, as the commands use it."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, cast
from urllib.parse import quote, urlsplit

from headway.errors import (
    AuthError,
    ConfigError,
    ExternalError,
    HeadwayError,
    NotFoundError,
    StateError,
    UserError,
)

TIMEOUT_SECONDS = 60.0
RETRY_SECONDS = 0.5
GIVE_UP_SECONDS = 120.0
_KINDS: dict[int, type[HeadwayError]] = {400: UserError, 401: AuthError, 403: AuthError, 404: NotFoundError}


@dataclass(frozen=True, slots=True)
class Api:
    """One gateway; `token` empty where it needs none."""

    address: str
    token: str = ""

    def call(
        self, method: str, path: str, body: object = None, file: IO[bytes] | None = None
    ) -> dict[str, Any]:
        """Ask, and give the answer's JSON.

        Raises:
            HeadwayError: the gateway said no, or cannot be reached.
        """
        data = file if file is not None else (None if body is None else json.dumps(body).encode())
        headers: dict[str, str] = {}
        if file is not None:
            headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
        try:
            connection = self._connect()
            connection.request(method, self._path(path), data, self._headers() | headers)
            response = connection.getresponse()
            said = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ExternalError("api.unreachable", address=self.address, cause=error) from error
        if response.status >= 400:
            raise _refused(response.status, said)
        try:
            return cast("dict[str, Any]", json.loads(said)) if said else {}
        except ValueError as error:
            raise ExternalError("api.not_gateway", address=self.address) from error

    def has_package(self, name: str) -> bool:
        """Whether the gateway has a package of this name."""
        try:
            self.call("GET", f"/api/packages/gcs/{quote(name)}")
        except NotFoundError:
            return False
        return True

    def follow(
        self,
        run: str,
        write: Callable[[bytes], object],
        *,
        rank: int | None = None,
        attempt: int | None = None,
        to_the_end: bool = True,
    ) -> None:
        """Hand on what a run prints until it has ended; a cut connection goes on at the next byte.

        Args:
            run: its id or its key.
            write: hears the bytes.
            rank: one worker's; None for the driver's.
            attempt: one attempt's; None for all.
            to_the_end: wait until the run has ended, not only for what is there now.

        Raises:
            HeadwayError: the gateway said no, or answered nothing for a while; a quiet run is no silence.
        """
        wanted = {"rank": rank, "attempt": attempt, "follow": 1 if to_the_end else None}
        query = "".join(f"&{name}={value}" for name, value in wanted.items() if value is not None)
        offset, since = 0, time.monotonic()
        while True:
            try:
                for data in self._log(f"/v1/runs/{quote(run, safe='')}/logs?offset={offset}{query}"):
                    since = time.monotonic()
                    write(data)
                    offset += len(data)
            except ExternalError:
                if time.monotonic() - since > GIVE_UP_SECONDS:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _log(self, path: str) -> Iterator[bytes]:
        """What one connection gives; an empty piece first, once it has been answered."""
        connection = self._connect()
        try:
            connection.request("GET", self._path(path), headers=self._headers())
            response = connection.getresponse()
            if response.status >= 400:
                raise _refused(response.status, response.read())
            yield b""
            while data := response.read1(1 << 16):
                yield data
        except (OSError, http.client.HTTPException) as error:
            raise ExternalError("api.unreachable", address=self.address, cause=error) from error
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        try:
            parts = urlsplit(self.address)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme == "https" and host:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=context)
        if parts.scheme == "http" and host:
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        raise ConfigError("api.bad_address", address=self.address)

    def _path(self, path: str) -> str:
        return urlsplit(self.address).path.rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def _refused(status: int, said: bytes) -> HeadwayError:
    try:
        found = json.loads(said)["error"]
        message = "\n".join(part for part in (found["message"], found.get("hint")) if part)
    except (ValueError, KeyError, TypeError):
        message = said[:2000].decode(errors="replace").strip() or f"HTTP {status}"
    kind = _KINDS.get(status, StateError if status == 409 else ExternalError)
    return kind("api.said", said=message)
