"""The run API: job files in, runs with their progress, log and receipt out."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from aiohttp import web
from sqlalchemy import select

from headway.blobs.packages import KIND
from headway.errors import UserError
from headway.gateway import run_log
from headway.gateway.answers import answer, read_json
from headway.gateway.auth import PEOPLE, only
from headway.gateway.following import CHUNK_BYTES, follow
from headway.gateway.ray_routes import attempt_of, is_gone, number, rank_of
from headway.gateway.ray_types import check_key
from headway.gateway.records import Records, Seen
from headway.gateway.service import gateway_of
from headway.gateway.submissions import again, from_job
from headway.runs import tables
from headway.runs.events import canonical_json

OFFSET_HEADER = "X-Headway-Offset"
PROGRESS_SECONDS = 0.5
EVENTS_AT_ONCE = 500
_STOPS = frozenset({"checkpoint", "now"})
_KEYS = frozenset({"job", "prepared", "package", "request_key"})

routes = web.RouteTableDef()


def run_data(seen: Seen) -> dict[str, object]:
    """A run as this API shows it."""
    run = seen.run
    return {
        "id": run.id,
        "name": run.name,
        "team": run.team_id,
        "owner": run.owner_id,
        "request_key": run.request_key,
        "parent": run.parent_run_id,
        "state": run.state.value,
        "reason": seen.reason or None,
        "failure_class": run.failure_class,
        "created_us": run.created,
        "ended_us": run.ended,
        "attempts": [
            {
                "n": one.n,
                "state": one.state.value,
                "failure_class": one.failure_class,
                "backend": one.backend,
                "started_us": one.started,
                "ended_us": one.ended,
                "exit_code": one.exit_code,
            }
            for one in seen.attempts
        ],
    }


async def _seen(request: web.Request) -> Seen:
    who, gateway = only(request, *PEOPLE), gateway_of(request)
    key = request.match_info["run"]
    check_key(key)
    return await gateway.read(lambda: gateway.records.seen(key, who))


@routes.post("/v1/runs")
async def submit(request: web.Request) -> web.Response:
    """Record a run of a job file: `{job, prepared, package, request_key}`; 201, or 200 when it was there."""
    who, gateway = only(request, *PEOPLE), gateway_of(request)
    data = await read_json(request)
    if not isinstance(data, dict) or not isinstance(cast("dict[str, object]", data).get("job"), dict):
        raise UserError("gateway.not_object")
    given = cast("dict[str, Any]", data)
    if unknown := sorted(set(given) - _KEYS):
        raise UserError("gateway.unknown_field", names=", ".join(unknown)[:200])
    key, name = given.get("request_key"), given.get("package")
    if key is not None:
        check_key(key)
    sha256 = await gateway.read(partial(gateway.store.named, KIND, str(name))) if name else None
    if name and sha256 is None:
        raise UserError("gateway.package_missing", name=str(name)[:200])
    without_key = {name: value for name, value in given.items() if name != "request_key"}
    digest = hashlib.sha256(canonical_json(without_key).encode()).hexdigest()
    prepared = cast("dict[str, object]", given.get("prepared") or {})
    submission = await gateway.read(
        lambda: from_job(cast("dict[str, object]", given["job"]), prepared, sha256, key, digest, who)
    )
    run_id, new = await gateway.write(lambda: gateway.records.submit(submission))
    return answer({"id": run_id}, 201 if new else 200)


@routes.get("/v1/runs")
async def list_runs(request: web.Request) -> web.Response:
    """The caller's runs, newest first."""
    who, gateway = only(request, *PEOPLE), gateway_of(request)
    limit = min(number(request, "limit", 100), 1000)
    runs = await gateway.read(lambda: gateway.records.listed(who, limit))
    return answer([run_data(seen) for seen in runs])


@routes.get("/v1/runs/{run}")
async def show_run(request: web.Request) -> web.Response:
    """One run."""
    return answer(run_data(await _seen(request)))


@routes.get("/v1/runs/{run}/receipt")
async def receipt(request: web.Request) -> web.Response:
    """What a run cost, or has cost so far."""
    seen, gateway = await _seen(request), gateway_of(request)
    return answer(await gateway.read(lambda: gateway.ports.receipt(seen.run.id)))


@routes.post("/v1/runs/{run}/stop")
async def stop(request: web.Request) -> web.Response:
    """Ask a run to stop: `{mode: checkpoint | now}`."""
    seen, gateway = await _seen(request), gateway_of(request)
    body = await read_json(request) if request.can_read_body else {}
    mode = str(cast("dict[str, object]", body).get("mode", "checkpoint")) if isinstance(body, dict) else ""
    if mode not in _STOPS:
        raise UserError("gateway.stop_mode", mode=mode[:40])
    return answer({"stopped": await gateway.write(lambda: gateway.records.stop(seen, mode))})


@routes.post("/v1/runs/{run}/resubmit")
async def resubmit(request: web.Request) -> web.Response:
    """The same spec and package again, as a new run."""
    who, gateway, seen = only(request, *PEOPLE), gateway_of(request), await _seen(request)
    submission = await gateway.read(lambda: again(seen.run.spec, seen.run.name, seen.run.id, who))
    run_id, _new = await gateway.write(lambda: gateway.records.submit(submission))
    return answer({"id": run_id, "parent": seen.run.id}, 201)


@routes.get("/v1/runs/{run}/logs")
async def logs(request: web.Request) -> web.StreamResponse:
    """What a run printed, as bytes: `?offset=`, `?rank=`, `?attempt=`, and `?follow=1` until it has ended."""
    who, gateway, key = only(request, *PEOPLE), gateway_of(request), request.match_info["run"]
    check_key(key)
    run_id = await gateway.read(partial(gateway.records.id_of, key, who))
    offset, stream, attempt = number(request, "offset"), rank_of(request), attempt_of(request)
    response = web.StreamResponse(headers={OFFSET_HEADER: str(offset), "Cache-Control": "no-store"})
    response.content_type = "text/plain"
    await response.prepare(request)
    if request.query.get("follow") in {"1", "true"}:
        gone = partial(is_gone, request)
        async for data in follow(gateway, run_id, stream, offset, attempt, gone):
            await response.write(data)
    else:
        folder = gateway.ports.run_folder(run_id)
        while data := await gateway.read(partial(run_log.read, folder, stream, offset, CHUNK_BYTES, attempt)):
            await response.write(data)
            offset += len(data)
    if not is_gone(request):
        await response.write_eof()
    return response


@routes.get("/v1/runs/{run}/events")
async def events(request: web.Request) -> web.StreamResponse:
    """A run's events as server-sent events until it has ended; `Last-Event-ID` goes on after one."""
    seen, gateway = await _seen(request), gateway_of(request)
    last = request.headers.get("Last-Event-ID", request.query.get("after", "0"))
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 20 else 0
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
    await response.prepare(request)
    quiet = 0.0
    while True:
        ended, rows = await gateway.read(_reading(gateway.records, seen.run.id, after))
        for at, kind, body in rows:
            after = at
            await response.write(f"id: {at}\nevent: {kind}\ndata: {body}\n\n".encode())
        if ended and not rows:
            break
        if not rows:
            quiet += PROGRESS_SECONDS
            if quiet >= 15:
                quiet = 0.0
                await response.write(b": still here\n\n")
            await asyncio.sleep(PROGRESS_SECONDS)
    await response.write_eof()
    return response


def _reading(
    records: Records, run_id: str, after: int
) -> Callable[[], tuple[bool, list[tuple[int, str, str]]]]:
    def read() -> tuple[bool, list[tuple[int, str, str]]]:
        run, event = tables.run, tables.event
        with records.ledger.read() as connection:
            ended = connection.execute(select(run.c.ended).where(run.c.id == run_id)).scalar_one() is not None
            rows = connection.execute(
                select(event)
                .where((event.c.run_id == run_id) & (event.c.recorded_at > after))
                .order_by(event.c.recorded_at)
                .limit(EVENTS_AT_ONCE)
            ).all()
        return ended, [
            (
                row.recorded_at,
                row.kind,
                json.dumps({"at_us": row.occurred_at, "attempt": row.attempt, "body": json.loads(row.body)}),
            )
            for row in rows
        ]

    return read
