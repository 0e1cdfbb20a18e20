"""What supervisors and agents post: events, usage and log bytes, kept before the answer, each once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headway.errors import ForbiddenError, UserError
from headway.gateway import run_log
from headway.gateway.answers import MAX_JSON_BYTES, answer, read_json
from headway.gateway.auth import only
from headway.gateway.ray_routes import number
from headway.gateway.service import gateway_of
from headway.runs.events import Event, EventKind
from headway.runs.tokens import Principal, Role

Kind = Literal["progress", "phase", "checkpoint", "metric", "world", "note", "log"]
Whole = Annotated[int, Field(ge=0, lt=1 << 62)]
Short = Annotated[str, Field(min_length=1, max_length=110)]

routes = web.RouteTableDef()


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class EventIn(_Closed):
    """One event, as `headway.runs.events.Event`."""

    source: Short
    epoch: Whole
    seq: Whole
    kind: Kind
    occurred_at: Whole
    run_id: Short
    attempt: Annotated[int, Field(ge=1, lt=1 << 31)]
    body: dict[str, Any]


class UsageIn(_Closed):
    """One usage row, as the ledger's."""

    source: Short
    epoch: Whole
    seq: Whole
    allocation_id: Short
    start: Whole
    stop: Whole
    metric: Annotated[str, Field(max_length=32)]
    quantity_int: Whole
    unit: Annotated[str, Field(max_length=32)]
    method: Annotated[str, Field(max_length=32)]
    quality: Annotated[str, Field(max_length=32)]


class BatchIn(_Closed):
    """What one post holds."""

    events: Annotated[list[EventIn], Field(max_length=10_000)] = []
    usage: Annotated[list[UsageIn], Field(max_length=10_000)] = []


@routes.post("/v1/ingest")
async def ingest(request: web.Request) -> web.Response:
    """Take a batch: 202 once it is committed, all of it or nothing; what was posted before counts once."""
    who, gateway = only(request, Role.ADMIN, Role.AGENT, Role.RUN), gateway_of(request)
    try:
        batch = BatchIn.model_validate(await read_json(request))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError("gateway.bad_batch", where=where, problem=first["msg"]) from error
    _check_own(who, batch)
    events = [
        Event(
            one.source,
            one.epoch,
            one.seq,
            EventKind(one.kind),
            one.occurred_at,
            one.run_id,
            one.attempt,
            one.body,
        )
        for one in batch.events
    ]
    rows = [one.model_dump() for one in batch.usage]
    new = await gateway.write(lambda: gateway.records.take(events, rows))
    return answer({"new": new, "taken": len(events) + len(rows)}, 202)


def _check_own(who: Principal, batch: BatchIn) -> None:
    if who.role is not Role.RUN:
        return
    own = f"{who.run_id}-a"
    if batch.usage or any(one.run_id != who.run_id or not one.source.startswith(own) for one in batch.events):
        raise ForbiddenError("gateway.not_this_run", run=who.run_id)


@routes.put("/v1/runs/{run}/logs/{attempt}/{stream}")
async def put_log(request: web.Request) -> web.Response:
    """Keep what an attempt printed from `?offset=` on: 202 with the size that is kept; 409 at a gap."""
    who, gateway = only(request, Role.ADMIN, Role.AGENT, Role.RUN), gateway_of(request)
    run_id, attempt = request.match_info["run"], request.match_info["attempt"]
    if who.role is Role.RUN and who.run_id != run_id:
        raise ForbiddenError("gateway.not_this_run", run=who.run_id)
    if not attempt.isascii() or not attempt.isdigit() or len(attempt) > 6:
        raise UserError("gateway.not_number", name="attempt", value=attempt[:40])
    seen = await gateway.read(lambda: gateway.records.seen(run_id, who))
    offset, stream = number(request, "offset"), run_log.check_stream(request.match_info["stream"])
    data = bytearray()
    async for chunk in request.content.iter_chunked(1 << 16):
        data += chunk
        if len(data) > MAX_JSON_BYTES:
            raise UserError("gateway.too_large", limit=f"{MAX_JSON_BYTES:,}")
    folder = gateway.folder(seen.run)
    size = await gateway.write(lambda: run_log.append(folder, int(attempt), stream, offset, bytes(data)))
    return answer({"size": size}, 202)
