"""What an attempt in a cluster asks: may I start, with what, and am I to stop."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, cast

from aiohttp import web

from headway.errors import ForbiddenError, UserError
from headway.gateway.answers import answer, read_json
from headway.gateway.auth import only
from headway.gateway.service import Gateway, gateway_of
from headway.gateway.signed import ADDRESS_SECONDS, signed_address
from headway.runs.ids import backend_name
from headway.runs.rows import AttemptRow, RunRow
from headway.runs.tokens import Role

_CLAIM = re.compile(r"[A-Za-z0-9-]{1,80}")
_PASSED_ON = (
    "entrypoint",
    "cpus_per_worker",
    "gpus_per_worker",
    "method",
    "recipe",
    "room",
    "storage",
)

routes = web.RouteTableDef()


def _attempt_of(request: web.Request) -> tuple[str, int]:
    who = only(request, Role.ADMIN, Role.RUN)
    run_id, number = request.match_info["run"], request.match_info["attempt"]
    if who.role is Role.RUN and who.run_id != run_id:
        raise ForbiddenError("gateway.not_this_run", run=who.run_id)
    if not number.isascii() or not number.isdigit() or not 0 < len(number) < 7:
        raise UserError("gateway.not_number", name="attempt", value=number[:40])
    return run_id, int(number)


@routes.post("/v1/runs/{run}/attempts/{attempt}/launch")
async def launch(request: web.Request) -> web.Response:
    """Start an attempt: `{claim}`; 409 where another process has started it, or it has ended."""
    run_id, number = _attempt_of(request)
    gateway, body = gateway_of(request), await read_json(request)
    claim = str(cast("dict[str, object]", body).get("claim") if isinstance(body, dict) else "")
    if not _CLAIM.fullmatch(claim):
        raise UserError("gateway.bad_claim")
    who = only(request, Role.ADMIN, Role.RUN)
    seen = await gateway.read(lambda: gateway.records.seen(run_id, who))
    attempt = await gateway.write(lambda: gateway.records.launch(run_id, number, claim))
    return answer(await gateway.read(lambda: launch_data(gateway, seen.run, attempt)))


@routes.get("/v1/runs/{run}/attempts/{attempt}/asked")
async def asked(request: web.Request) -> web.Response:
    """Whether an attempt is open still, and how it is to stop: `{open, stop}`."""
    run_id, number = _attempt_of(request)
    gateway = gateway_of(request)
    return answer(await gateway.read(partial(gateway.records.asked, run_id, number)))


def launch_data(gateway: Gateway, run: RunRow, attempt: AttemptRow) -> dict[str, object]:
    """All that a process needs to start an attempt; an address without a host is the gateway's."""
    resolved = cast("dict[str, Any]", run.spec["resolved"])
    package, modules = resolved.get("package"), resolved.get("py_modules") or []
    return {
        "run": run.id,
        "attempt": attempt.n,
        "mark": backend_name(run.id, attempt.n),
        "lease_epoch": attempt.lease_epoch,
        "workers": resolved["workers"] if resolved.get("workers_stated", True) else None,
        **{name: resolved.get(name) for name in _PASSED_ON},
        "package": None if package is None else _code(gateway, str(package)),
        "py_modules": [_code(gateway, str(sha256)) for sha256 in modules],
    }


def _code(gateway: Gateway, sha256: str) -> dict[str, str]:
    direct = gateway.store.signed_url(sha256, ADDRESS_SECONDS)
    return {"sha256": sha256, "url": direct or signed_address("", gateway.key, sha256)}
