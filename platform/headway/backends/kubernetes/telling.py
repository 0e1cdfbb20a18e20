"""What a head says to the gateway and hears from it; whatever is not taken is tried again."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO, cast

from headway.errors import AuthError, DataError, ExternalError, StateError, UserError
from headway.runs.events import Event

TIMEOUT_SECONDS = 30.0
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 10.0
EVENTS_AT_ONCE = 1000
LOG_BYTES_AT_ONCE = 1 << 20
_COPY_BYTES = 1 << 20


class Telling:
    """The gateway as one attempt sees it, under the run's own token."""

    def __init__(
        self,
        gateway: str,
        token: str,
        run_id: str,
        attempt: int,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gateway, self._token = gateway.rstrip("/"), token
        self._run, self._attempt = f"/v1/runs/{run_id}", attempt
        self._sleep, self._clock = sleep, clock
        self._sent_bytes: Counter[str] = Counter()

    def launch(self, claim: str, patience_seconds: float) -> dict[str, Any]:
        """What to start.

        Raises:
            StateError: another process started this attempt, or it has ended.
        """
        path = f"{self._run}/attempts/{self._attempt}/launch"
        body = {"claim": claim}
        return self.patiently(lambda: self._ask("POST", path, _json(body)), patience_seconds)

    def asked(self) -> dict[str, Any]:
        """Whether the attempt is open still, and how it is to stop."""
        return self._ask("GET", f"{self._run}/attempts/{self._attempt}/asked")

    def tell(self, events: Sequence[Event]) -> None:
        """Post events; each counts once, however often it is posted."""
        for start in range(0, len(events), EVENTS_AT_ONCE):
            part = [{**asdict(one), "kind": one.kind.value} for one in events[start : start + EVENTS_AT_ONCE]]
            self._ask("POST", "/v1/ingest", _json({"events": part}))

    def tell_log(self, stream: str, log: BinaryIO) -> int:
        """Post what a stream (`driver`, `rank-<k>`) has grown by; gives how many bytes that was."""
        sent_bytes = self._sent_bytes[stream]
        log.seek(sent_bytes)
        data = log.read(LOG_BYTES_AT_ONCE)
        if data:
            path = f"{self._run}/logs/{self._attempt}/{stream}?offset={sent_bytes}"
            self._ask("PUT", path, data, "application/octet-stream")
            self._sent_bytes[stream] += len(data)
        return len(data)

    def patiently(self, call: Callable[[], Any], patience_seconds: float) -> Any:  # noqa: ANN401 - what the call gives
        """Call until the gateway takes it, or patience ends.

        Raises:
            ExternalError: it did not in time.
        """
        ends, wait = self._clock() + patience_seconds, FIRST_WAIT_SECONDS
        while True:
            try:
                return call()
            except ExternalError:
                if self._clock() + wait > ends:
                    raise
            self._sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _ask(
        self, method: str, path: str, data: bytes | None = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        request = urllib.request.Request(f"{self._gateway}{path}", data, method=method)  # noqa: S310 - from our manifest
        request.add_header("Authorization", f"Bearer {self._token}")
        if data is not None:
            request.add_header("Content-Type", kind)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - as above
                return cast("dict[str, Any]", json.loads(answer.read() or b"{}"))
        except urllib.error.HTTPError as error:
            said = error.read()[:500].decode(errors="replace")
            if error.code in {401, 403}:
                raise AuthError("api.said", said=said) from error
            if error.code == 409:
                raise StateError("api.said", said=said) from error
            if error.code < 500 and error.code != 429:
                raise UserError("api.said", said=said) from error
            raise ExternalError("api.said", said=said) from error
        except (OSError, ValueError) as error:
            raise ExternalError("api.unreachable", address=self._gateway, cause=error) from error

    def open_code(self, addresses: Mapping[str, str]) -> Fetched:
        """A store whose bytes are fetched from these addresses, by their hashes."""
        whole = {
            sha256: url if "://" in url else f"{self._gateway}{url}" for sha256, url in addresses.items()
        }
        return Fetched(whole)


class Fetched:
    """Bytes behind signed addresses, as a store that can only be read."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = addresses

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, once their hash has been found to be theirs.

        Raises:
            ExternalError: they cannot be fetched now.
            DataError: they are others.
        """
        file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - the caller closes it
        digest = hashlib.sha256()
        try:
            with urllib.request.urlopen(self._addresses[sha256], timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - signed by our gateway or its store
                while data := answer.read(_COPY_BYTES):
                    file.write(data)
                    digest.update(data)
        except (OSError, ValueError) as error:
            file.close()
            raise ExternalError("api.unreachable", address=self._addresses[sha256], cause=error) from error
        if digest.hexdigest() != sha256:
            file.close()
            raise DataError("blobs.not_found", digest=sha256)
        file.seek(0)
        return file


def _json(body: object) -> bytes:
    return json.dumps(body).encode()
