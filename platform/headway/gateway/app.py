"""The gateway as one aiohttp application."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aiohttp import web

from headway.gateway import attempt_routes, health, ingest, ray_routes, run_routes, signed
from headway.gateway.answers import errors_as_answers
from headway.gateway.auth import authentication
from headway.gateway.health import METERS, Meters
from headway.gateway.service import GATEWAY, Gateway

# Packages and logs are streamed and bounded by their own routes.
LARGEST_BODY_BYTES = 1 << 44


def make_app(gateway: Gateway) -> web.Application:
    """Every route behind counting, errors as answers, and authentication, in this order."""
    meters = Meters()
    app = web.Application(
        middlewares=[meters.middleware(), errors_as_answers, authentication()],
        client_max_size=LARGEST_BODY_BYTES,
    )
    app[GATEWAY], app[METERS] = gateway, meters
    rooms = (health, ray_routes, run_routes, attempt_routes, ingest, signed)
    for room in rooms:
        app.add_routes(room.routes)
    app.cleanup_ctx.append(_closing)
    return app


async def _closing(app: web.Application) -> AsyncIterator[None]:
    yield
    app[GATEWAY].close()
