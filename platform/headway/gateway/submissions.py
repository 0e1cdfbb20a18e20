"""PURE. From a request to the event that records a run: Ray's submissions, and job files of our own."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from headway.blobs.packages import package_name
from headway.errors import UserError
from headway.gateway.ray_types import RayRequest
from headway.runs.tokens import Principal
from headway.spec.job import JobSpec
from headway.spec.loader import parse, parse_value
from headway.spec.validation import validate

CONTROLLER = "controller"  # who starts the run
# Keys of a submission's metadata that we read: where each goes in a job spec, and whether it is a text.
_KEYS: dict[str, tuple[tuple[str, ...], bool]] = {
    "name": (("name",), True),
    "team": (("team",), True),
    "project": (("project",), True),
    "queue": (("queue",), True),
    "priority": (("priority",), True),
    "deadline": (("limits", "deadline"), True),
    "budget": (("limits", "budget"), True),
    "sensitivity": (("data", "sensitivity"), True),
    "storage": (("storage",), True),
    "image": (("image",), True),
    "workers": (("needs", "workers"), False),
    "gpus": (("needs", "gpus"), False),
    "cpus_per_worker": (("needs", "cpus_per_worker"), False),
}
# Parts of a runtime environment that have their effect; the others are refused, never ignored.
_RUNTIME_ENV = frozenset({"working_dir", "py_modules", "env_vars", "excludes", "config"})
_DEFAULT_NAME = "ray-job"

FindPackage = Callable[[str], str | None]  # a package's name -> its SHA-256


@dataclass(frozen=True, slots=True)
class Submission:
    """What is recorded of a new run; `digest` says whether a second request under its key is the same."""

    name: str
    key: str | None
    digest: str
    body: dict[str, object]


def from_ray(request: RayRequest, who: Principal, find_package: FindPackage) -> Submission:
    """A submission of Ray's client; its metadata may hold our keys, the rest is kept as it is.

    Raises:
        UserError: a key has a bad value, a part of the runtime environment has no effect here, a package
            was not uploaded, or the team is another.
    """
    env = dict(request.runtime_env or {})
    spec = _spec_of(request, env)
    unknown = sorted(set(env) - _RUNTIME_ENV)
    if unknown:
        raise UserError("gateway.runtime_env", names=", ".join(unknown)[:200])
    stated = (request.metadata or {}).keys() & {"workers", "gpus"}
    resolved = {
        **_resolved(spec),
        "entrypoint": shlex.join(["/bin/sh", "-c", request.entrypoint]),
        "workers_stated": bool(stated),
        "package": _package(env.get("working_dir"), find_package),
        "py_modules": [_package(uri, find_package) for uri in _list(env.get("py_modules"))],
        "request": request.to_data(),
        "request_sha": request.digest,
    }
    body = _body(spec, resolved, who)
    return Submission(spec.name, request.submission_id, request.digest, body)


def from_job(
    job: Mapping[str, object],
    prepared: Mapping[str, object],
    package: str | None,
    key: str | None,
    digest: str,
    who: Principal,
) -> Submission:
    """A job file's submission.

    Args:
        job: the spec as its file says it.
        prepared: what the client found before: entrypoint, recipe, gate, room, code_sha.
        package: SHA-256 of the code.
        key: the client's name for the request.
        digest: by which two requests are the same.
        who: the caller.

    Raises:
        UserError: the job is not one, or is another team's.
    """
    spec = validate(JobSpec, parse(json.dumps(job), "job"))
    resolved = {
        **_resolved(spec),
        **{name: prepared[name] for name in ("recipe", "room", "gate") if name in prepared},
        "entrypoint": str(prepared.get("entrypoint") or spec.entrypoint),
        "package": package,
        "py_modules": [],
        "request_sha": digest,
    }
    body = _body(spec, resolved, who) | {"code_sha": prepared.get("code_sha")}
    return Submission(spec.name, key, digest, body)


def again(spec: Mapping[str, object], name: str, parent: str, who: Principal) -> Submission:
    """The same spec and package as a run of before, as a new run."""
    resolved = dict(cast("dict[str, object]", spec["resolved"]))
    if not resolved.get("package"):
        raise UserError("gateway.no_package", run=parent)
    resolved["dispatch"] = CONTROLLER
    job = validate(JobSpec, parse(json.dumps(spec["job"]), "job"))
    body = _body(job, resolved, who) | {"parent": parent}
    return Submission(name, None, str(resolved.get("request_sha")), body)


def _spec_of(request: RayRequest, env: Mapping[str, object]) -> JobSpec:
    data: dict[str, Any] = {"version": 1, "name": _DEFAULT_NAME, "entrypoint": request.entrypoint}
    if request.submission_id is not None:
        data["name"] = request.submission_id
    for key, value in (request.metadata or {}).items():
        if key in _KEYS:
            path, is_text = _KEYS[key]
            _set(data, path, value if is_text else _read(key, value))
    cpus = request.numbers.get("entrypoint_num_cpus")
    if cpus:
        data.setdefault("needs", {}).setdefault("cpus_per_worker", max(1, math.ceil(cpus)))
    if env.get("env_vars"):
        data["env"] = env["env_vars"]
    return validate(JobSpec, parse(json.dumps(data), "metadata"))


def _set(data: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for part in path[:-1]:
        data = data.setdefault(part, {})
    data[path[-1]] = value


def _read(key: str, value: str) -> object:
    read, problems = parse_value(value, key)
    return value if problems else read


def _resolved(spec: JobSpec) -> dict[str, object]:
    budget = spec.limits.budget
    return {
        "dispatch": CONTROLLER,
        "workdir": "",
        "env": dict(spec.env),
        "secrets": {secret.name: secret.variable for secret in spec.secrets},
        "workers": spec.workers,
        "workers_stated": True,
        "cpus_per_worker": spec.needs.cpus_per_worker,
        "gpus_per_worker": -(-spec.needs.gpus.min // spec.workers),
        "method": spec.workload.method.kind if spec.workload is not None else "full",
        "recipe": None,
        "storage": spec.storage,
        "budget": None if budget is None else f"{budget.amount:f}",
        "budget_currency": None if budget is None else budget.currency,
        "retries": spec.retries.model_dump(exclude_unset=True, by_alias=True),
        "shutdown_when_done": False,
        "queue": spec.queue,
        "priority": spec.priority,
        "image": spec.image,
        "pip": list(spec.pip),
    }


def _body(spec: JobSpec, resolved: Mapping[str, object], who: Principal) -> dict[str, object]:
    if who.team is not None and spec.team not in {None, who.team}:
        raise UserError("gateway.other_team", team=spec.team, own=who.team)
    return {
        "name": spec.name,
        "team": spec.team or who.team,
        "project": spec.project,
        "owner": spec.owner or who.id,
        "labels": dict(spec.labels),
        "spec": {"job": spec.to_data(), "resolved": dict(resolved)},
        "code_sha": None,
    }


def _package(uri: object, find_package: FindPackage) -> str | None:
    if uri is None:
        return None
    name = package_name(uri) if isinstance(uri, str) else None
    if name is None:
        raise UserError("gateway.package_uri", uri=str(uri)[:200])
    found = find_package(name)
    if found is None:
        raise UserError("gateway.package_missing", name=name)
    return found


def _list(value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UserError("gateway.wrong_type", name="py_modules", wanted="a list")
    return cast("list[object]", value)
