"""Addresses that let their holder fetch one package for a while, where the store cannot sign its own."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import time
from functools import partial
from pathlib import Path

from aiohttp import web

from headway.blobs.store import CHUNK_BYTES, SHA256
from headway.errors import ForbiddenError
from headway.gateway.service import gateway_of

ADDRESS_SECONDS = 7 * 24 * 3600

routes = web.RouteTableDef()


def signing_key(home: Path) -> bytes:
    """The installation's key, made on first use, readable by its owner only."""
    path = home / "signing.key"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        draft.write_bytes(secrets.token_bytes(32))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)  # of two processes at once, the first one's key stays
        draft.unlink()
    return path.read_bytes()


def _signature(key: bytes, sha256: str, expires: int) -> str:
    return hmac.new(key, f"{sha256}.{expires}".encode(), hashlib.sha256).hexdigest()


def signed_address(url: str, key: bytes, sha256: str, seconds: int = ADDRESS_SECONDS) -> str:
    """An address of the gateway from which the bytes of a hash can be fetched until it expires."""
    expires = int(time.time()) + seconds
    return f"{url}/v1/blobs/{sha256}.zip?expires={expires}&signature={_signature(key, sha256, expires)}"


@routes.get("/v1/blobs/{name}")
async def fetch(request: web.Request) -> web.StreamResponse:
    """The bytes of a signed address."""
    gateway = gateway_of(request)
    sha256 = request.match_info["name"].removesuffix(".zip")
    expires, given = request.query.get("expires", ""), request.query.get("signature", "")
    valid = SHA256.fullmatch(sha256) and expires.isascii() and expires.isdigit() and len(expires) < 15
    if not valid or not hmac.compare_digest(_signature(gateway.key, sha256, int(expires)), given):
        raise ForbiddenError("gateway.bad_signature")
    if int(expires) < time.time():
        raise ForbiddenError("gateway.expired")
    file = await gateway.read(partial(gateway.store.open, sha256))
    try:
        response = web.StreamResponse()
        response.content_type = "application/zip"
        response.content_length = await gateway.read(partial(gateway.store.size, sha256))
        await response.prepare(request)
        while data := await gateway.read(partial(file.read, CHUNK_BYTES)):
            await response.write(data)
        await response.write_eof()
        return response
    finally:
        file.close()
