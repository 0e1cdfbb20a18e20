"""The Ray Jobs REST API, so that the stock `ray job` commands and `JobSubmissionClient` work unchanged.

Where Ray answers 500 to what a client did wrong, this answers 4xx: a submission id that is taken (409, and
200 with the same id when the request is the same), deleting a job that runs (409), a body that is no JSON.
"""

from __future__ import annotations

import asyncio
import codecs
from functools import partial

from aiohttp import web

from headway.blobs.packages import KIND
from headway.blobs.store import check_name
from headway.errors import NotFoundError, UserError
from headway.gateway import run_log
from headway.gateway.answers import answer, read_json
from headway.gateway.auth import PEOPLE, only
from headway.gateway.following import follow
from headway.gateway.ray_types import API_VERSION, RAY_VERSION, check_key, details_of, parse_request
from headway.gateway.records import Seen
from headway.gateway.service import Gateway, gateway_of
from headway.gateway.submissions import from_ray

LOG_BYTES = 64 << 20
_PROTOCOLS = frozenset({"gcs"})

routes = web.RouteTableDef()


@routes.get("/api/version")
async def version(request: web.Request) -> web.Response:
    """What this is, in Ray's words."""
    only(request, *PEOPLE)
    return answer(
        {
            "version": API_VERSION,
            "ray_version": RAY_VERSION,
            "ray_commit": "headway",
            "session_name": "headway",
        }
    )


def _package_of(request: web.Request) -> str:
    protocol, name = request.match_info["protocol"], request.match_info["package_name"]
    if protocol not in _PROTOCOLS:
        raise UserError("gateway.protocol", protocol=protocol[:40])
    return check_name(name)


@routes.get("/api/packages/{protocol}/{package_name}")
async def has_package(request: web.Request) -> web.Response:
    """Whether a package is there."""
    only(request, *PEOPLE)
    gateway, name = gateway_of(request), _package_of(request)
    if await gateway.read(partial(gateway.store.named, KIND, name)) is None:
        raise NotFoundError("gateway.no_package_named", name=name)
    return web.Response()


@routes.put("/api/packages/{protocol}/{package_name}")
async def put_package(request: web.Request) -> web.Response:
    """Take a package, of any size, and keep it once it is whole."""
    only(request, *PEOPLE)
    gateway, name = gateway_of(request), _package_of(request)
    writer = await gateway.read(gateway.store.writer)
    try:
        async for chunk in request.content.iter_chunked(1 << 20):
            await gateway.read(partial(writer.write, chunk))
        sha256 = await gateway.read(writer.commit)
    except BaseException:
        await asyncio.shield(gateway.read(writer.discard))
        raise
    await gateway.read(partial(gateway.store.name, KIND, name, sha256))
    return web.Response()


@routes.post("/api/jobs/")
async def submit(request: web.Request) -> web.Response:
    """Record a job; it is in the ledger when this answers."""
    who, gateway = only(request, *PEOPLE), gateway_of(request)
    parsed = parse_request(await read_json(request))
    find = partial(gateway.store.named, KIND)
    submission = await gateway.read(lambda: from_ray(parsed, who, find))
    run_id, _new = await gateway.write(lambda: gateway.records.submit(submission))
    key = parsed.submission_id or run_id
    return answer({"job_id": key, "submission_id": key})


async def _seen(request: web.Request) -> Seen:
    who, gateway = only(request, *PEOPLE), gateway_of(request)
    key = request.match_info["job_or_submission_id"]
    check_key(key)
    seen = await gateway.read(lambda: gateway.records.seen(key, who))
    if seen.run.hidden is not None:  # to Ray's clients a deleted job was never there
        raise NotFoundError("gateway.no_job", key=key)
    return seen


def _details(gateway: Gateway, seen: Seen) -> dict[str, object]:
    return details_of(seen.run, seen.attempts, gateway.url, seen.reason)


@routes.get("/api/jobs/")
async def list_jobs(request: web.Request) -> web.Response:
    """The caller's runs."""
    who, gateway = only(request, *PEOPLE), gateway_of(request)
    runs = await gateway.read(lambda: gateway.records.listed(who))
    return answer([_details(gateway, seen) for seen in runs])


@routes.get("/api/jobs/{job_or_submission_id}")
async def job_info(request: web.Request) -> web.Response:
    """One run."""
    return answer(_details(gateway_of(request), await _seen(request)))


@routes.post("/api/jobs/{job_or_submission_id}/stop")
async def stop_job(request: web.Request) -> web.Response:
    """Ask a run to stop, after a checkpoint where it can."""
    seen, gateway = await _seen(request), gateway_of(request)
    return answer({"stopped": await gateway.write(lambda: gateway.records.stop(seen, "checkpoint"))})


@routes.delete("/api/jobs/{job_or_submission_id}")
async def delete_job(request: web.Request) -> web.Response:
    """Take an ended run out of the lists and free its id."""
    seen, gateway = await _seen(request), gateway_of(request)
    await gateway.write(lambda: gateway.records.hide(seen))
    return answer({"deleted": True})


@routes.get("/api/jobs/{job_or_submission_id}/logs")
async def job_logs(request: web.Request) -> web.Response:
    """All that a run has printed; of a huge log the end."""
    seen, gateway = await _seen(request), gateway_of(request)
    folder = gateway.folder(seen.run)

    def all_of_it() -> str:
        total = run_log.size(folder, "driver")
        at, found = max(0, total - LOG_BYTES), bytearray()
        while data := run_log.read(folder, "driver", at, LOG_BYTES):
            found += data
            at += len(data)
        return found.decode(errors="replace")

    return answer({"logs": await gateway.read(all_of_it)})


@routes.get("/api/jobs/{job_or_submission_id}/logs/tail")
async def tail_logs(request: web.Request) -> web.StreamResponse:
    """Follow what a run prints, in text frames, until it has ended; `?offset=` goes on from a byte."""
    seen, gateway = await _seen(request), gateway_of(request)
    offset = number(request, "offset")
    socket = web.WebSocketResponse(heartbeat=30.0)
    await socket.prepare(request)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    reader = asyncio.create_task(_until_closed(socket))
    stream = follow(gateway, seen.run.id, "driver", offset, None, partial(is_gone, request))
    try:
        async for data in stream:
            said = decoder.decode(data)
            if socket.closed:
                break
            if said:
                await socket.send_str(said)
        if rest := decoder.decode(b"", final=True):
            await socket.send_str(rest)
    except ConnectionResetError:
        pass  # whoever followed has gone
    finally:
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        reader.cancel()
        await socket.close()
    return socket


async def _until_closed(socket: web.WebSocketResponse) -> None:
    async for _message in socket:
        pass  # Ray's client says nothing; reading is how its going is noticed


def is_gone(request: web.Request) -> bool:
    """Whether the connection of a request has ended."""
    return request.transport is None


def number(request: web.Request, name: str, default: int = 0) -> int:
    """A whole number of the query, not negative.

    Raises:
        UserError: it is not one.
    """
    value = request.query.get(name)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or len(value) > 15:
        raise UserError("gateway.not_number", name=name, value=value[:40])
    return int(value)


def rank_of(request: web.Request) -> str:
    """The stream that a query asks for: `rank=2`, else the driver's."""
    rank = request.query.get("rank")
    return "driver" if rank is None else f"rank-{number(request, 'rank')}"


def attempt_of(request: web.Request) -> int | None:
    """The attempt that a query asks for."""
    return None if "attempt" not in request.query else number(request, "attempt")
