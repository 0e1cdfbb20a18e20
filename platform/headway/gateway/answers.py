"""Answers: JSON, and errors with their code, text and hint; on Ray's routes as plain text, as Ray's are."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import cast

from aiohttp import web

from headway.errors import (
    AuthError,
    CapacityError,
    ExternalError,
    ForbiddenError,
    HeadwayError,
    NotFoundError,
    StateError,
    UserError,
)
from headway.messages import text

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MAX_JSON_BYTES = 8 << 20
GONE = 499  # whoever asked has gone, as other servers' logs number it
_LOG = logging.getLogger(__name__)
_STATUSES: tuple[tuple[type[HeadwayError], int], ...] = (
    (ForbiddenError, 403),
    (AuthError, 401),
    (NotFoundError, 404),
    (UserError, 400),
    (StateError, 409),
    (CapacityError, 409),
    (ExternalError, 503),
)


def answer(data: object, status: int = 200) -> web.Response:
    """JSON."""
    return web.Response(text=json.dumps(data), content_type="application/json", status=status)


async def read_json(request: web.Request) -> object:
    """The request's body as JSON.

    Raises:
        UserError: it is not JSON, or too large.
    """
    body = bytearray()
    async for chunk in request.content.iter_chunked(1 << 16):
        body += chunk
        if len(body) > MAX_JSON_BYTES:
            raise UserError("gateway.too_large", limit=f"{MAX_JSON_BYTES:,}")
    try:
        return cast("object", json.loads(bytes(body)))
    except ValueError as error:
        raise UserError("gateway.not_json", cause=error) from error


def status_of(error: HeadwayError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


@web.middleware
async def errors_as_answers(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn errors into answers; what nobody foresaw is logged here and told by a number only."""
    try:
        return await handler(request)
    except HeadwayError as error:
        return _refusal(request, error)
    except web.HTTPException:
        raise
    except ConnectionResetError:
        return web.Response(status=GONE)  # nobody hears it; it is counted, and is no error of ours
    except Exception:  # noqa: BLE001 - the last resort: an answer and a number in the log
        number = secrets.token_hex(4)
        _LOG.exception("error %s at %s %s", number, request.method, request.path)
        said = text("gateway.unexpected", number=number)
        return _shaped(request, 500, {"code": "E-INT-01", "message": said, "hint": None})


def _refusal(request: web.Request, error: HeadwayError) -> web.Response:
    status = status_of(error)
    if status >= 500:
        _LOG.error("%s %s: %s", request.method, request.path, error)
    response = _shaped(request, status, {"code": error.code, "message": str(error), "hint": error.hint})
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="headway"'
    return response


def _shaped(request: web.Request, status: int, body: dict[str, object]) -> web.Response:
    if request.path.startswith("/api/"):
        code = f"  [{body['code']}]"
        # A list of problems ends with its code already.
        message = str(body["message"]).removesuffix(code) + code
        said = "\n".join(str(part) for part in (message, body["hint"]) if part)
        return web.Response(text=said, status=status)
    return answer({"error": body}, status)
