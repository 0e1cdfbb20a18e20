"""Who may ask. With a token in force, everybody needs one; without, only this machine is let in.

Without tokens the gateway listens on loopback only, and a web page in a browser on this machine must not be
able to submit jobs through it: requests for another host's name (DNS rebinding) and requests that a page of
another origin makes are refused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from headway.errors import AuthError, ForbiddenError
from headway.gateway.service import PRINCIPAL, Gateway, gateway_of
from headway.runs import tokens
from headway.runs.store import now_microseconds
from headway.runs.tokens import Principal, Role

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
LOCAL = Principal("local", Role.ADMIN)
CACHE_SECONDS = 2.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})


class Doorman:
    """Looks tokens up, and remembers what it found for two seconds: a revoked token lives no longer."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Principal | None]] = {}
        self._needed: tuple[float, bool] = (-1e9, True)
        self._asking: dict[str, asyncio.Task[object]] = {}

    async def principal(self, gateway: Gateway, header: str | None) -> Principal:
        """Who sent this `Authorization` header.

        Raises:
            AuthError: nobody that is known.
        """
        token = _bearer(header)
        if token is None:
            if await self._is_needed(gateway):
                raise AuthError("gateway.no_token")
            return LOCAL
        found = await self._find(gateway, token)
        if found is None:
            raise AuthError("gateway.bad_token")
        return found

    async def _is_needed(self, gateway: Gateway) -> bool:
        if not gateway.loopback_only:
            return True
        at, needed = self._needed
        if time.monotonic() - at > CACHE_SECONDS:
            needed = await self._once("", gateway, _any_issued)
            self._needed = (time.monotonic(), needed)
        return needed

    async def _find(self, gateway: Gateway, token: str) -> Principal | None:
        key = tokens.token_hash(token)
        at, principal = self._known.get(key, (-1e9, None))
        if time.monotonic() - at > CACHE_SECONDS:
            principal = await self._once(key, gateway, partial(_find, token=token))
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[key] = (time.monotonic(), principal)
        return principal

    async def _once(self, key: str, gateway: Gateway, ask: Callable[[Gateway], T]) -> T:
        """Ask the ledger; of many that want to know the same at once, one asks."""
        task = cast("asyncio.Task[T] | None", self._asking.get(key))
        if task is None:
            task = asyncio.create_task(gateway.read(partial(ask, gateway)))
            self._asking[key] = cast("asyncio.Task[object]", task)
            task.add_done_callback(lambda _task: self._asking.pop(key, None))
        return await asyncio.shield(task)


def _any_issued(gateway: Gateway) -> bool:
    with gateway.records.ledger.read() as connection:
        return tokens.any_issued(connection)


def _find(gateway: Gateway, token: str) -> Principal | None:
    with gateway.records.ledger.read() as connection:
        return tokens.find(connection, token, now_microseconds())


def _bearer(header: str | None) -> str | None:
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise AuthError("gateway.bad_token")
    return token.strip()


def authentication() -> Middleware:
    """The middleware that puts the caller into every request, or refuses it."""
    doorman = Doorman()

    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in OPEN_PATHS or request.path.startswith("/v1/blobs/"):
            return await handler(request)  # health tells nothing; a blob's address is signed
        header = request.headers.get("Authorization")
        principal = await doorman.principal(gateway_of(request), header)
        if principal is LOCAL:
            _check_local(request)
        request[PRINCIPAL] = principal
        return await handler(request)

    return authenticate


def _check_local(request: web.Request) -> None:
    host = urlsplit(f"//{request.host}").hostname or ""
    origin = request.headers.get("Origin")
    same = origin is None or urlsplit(origin).netloc == request.host
    site = request.headers.get("Sec-Fetch-Site", "none")
    if host not in _LOOPBACK or not same or site not in {"none", "same-origin"}:
        raise ForbiddenError("gateway.cross_site")


def only(request: web.Request, *roles: Role) -> Principal:
    """The caller, whose role must be one of these.

    Raises:
        ForbiddenError: it is not.
    """
    principal = request[PRINCIPAL]
    if principal.role not in roles:
        raise ForbiddenError("gateway.role", role=principal.role.value)
    return principal


PEOPLE = (Role.ADMIN, Role.USER)
