"""Is it alive, can it work, and how much does it do: `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import select

from headway.gateway.answers import answer
from headway.gateway.auth import PEOPLE, only
from headway.gateway.service import gateway_of
from headway.runs.tokens import Role

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Meters:
    """What is counted of the gateway's own work."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "headway_gateway_requests",
            "Requests answered.",
            ("route", "method", "code"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "headway_gateway_request_duration_seconds",
            "Time to the end of an answer.",
            ("route", "method"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.followers = Gauge(
            "headway_gateway_log_followers", "Connections that follow a log.", registry=self.registry
        )
        self.runs = Gauge("headway_runs", "Runs in each state.", ("state",), registry=self.registry)

    def middleware(self) -> Middleware:
        """Count and time each answer by its route, never by its path."""

        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            began, code = time.perf_counter(), 500
            try:
                response = await handler(request)
            except web.HTTPException as error:
                code = error.status
                raise
            else:
                code = response.status
                return response
            finally:
                resource = request.match_info.route.resource
                route = resource.canonical if resource is not None else "none"
                self.requests.labels(route, request.method, str(code)).inc()
                self.seconds.labels(route, request.method).observe(time.perf_counter() - began)

        return count


METERS: web.AppKey[Meters] = web.AppKey("meters", Meters)

routes = web.RouteTableDef()


@routes.get("/healthz")
async def alive(_request: web.Request) -> web.Response:
    """It answers."""
    return answer({"status": "ok"})


@routes.get("/readyz")
async def ready(request: web.Request) -> web.Response:
    """The ledger answers too; 503 where it does not."""
    gateway = gateway_of(request)

    def ask() -> None:
        with gateway.records.ledger.read() as connection:
            connection.execute(select(1))

    await gateway.read(ask)
    return answer({"status": "ready"})


@routes.get("/metrics")
async def metrics(request: web.Request) -> web.Response:
    """For Prometheus."""
    only(request, *PEOPLE, Role.AGENT)
    gateway, meters = gateway_of(request), request.app[METERS]
    for state, count in (await gateway.read(gateway.records.counts)).items():
        meters.runs.labels(state).set(count)
    meters.followers.set(sum(watch.followers for watch in gateway.watches.by_key.values()))
    body = generate_latest(meters.registry)
    return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
