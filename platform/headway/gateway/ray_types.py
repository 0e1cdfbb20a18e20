"""PURE. What Ray's Jobs API says and hears: requests checked as Ray checks them, runs shown as Ray jobs.

Source: the routes and dataclasses of Ray 2.60's dashboard (`ray.dashboard.modules.job`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from headway.errors import UserError
from headway.runs.events import canonical_json
from headway.runs.rows import AttemptRow, RunRow
from headway.runs.states import FailureClass, RunState

API_VERSION = "4"
RAY_VERSION = "2.60.0"
KEY_CHARACTERS = 200

_S = RunState
_STATUS = {
    _S.RUNNING: "RUNNING",
    _S.PREEMPTING: "RUNNING",
    _S.RESTARTING: "RUNNING",
    _S.RESIZING: "RUNNING",
    _S.SUCCEEDED: "SUCCEEDED",
    _S.FAILED: "FAILED",
    _S.EXPIRED: "FAILED",
    _S.CANCELLED: "STOPPED",
}
_ERROR_TYPES = {
    FailureClass.IMAGE.value: "RUNTIME_ENV_SETUP_FAILURE",
    FailureClass.START_TIMEOUT.value: "JOB_SUPERVISOR_ACTOR_START_TIMEOUT",
    FailureClass.INFRA.value: "JOB_SUPERVISOR_ACTOR_DIED",
    FailureClass.PREEMPTION.value: "JOB_SUPERVISOR_ACTOR_DIED",
}
_MESSAGES = {
    "RUNNING": "Job is currently running.",
    "SUCCEEDED": "Job finished successfully.",
    "STOPPED": "Job was intentionally stopped.",
}
_WITH_EXIT_CODE = frozenset({"SUCCEEDED", "FAILED"})  # Ray keeps none of a job that was stopped
_NUMBERS = ("entrypoint_num_cpus", "entrypoint_num_gpus", "entrypoint_memory")
_FIELDS = frozenset(
    {
        "entrypoint",
        "submission_id",
        "job_id",
        "runtime_env",
        "metadata",
        *_NUMBERS,
        "entrypoint_resources",
        "entrypoint_label_selector",
    }
)


@dataclass(frozen=True, slots=True)
class RayRequest:
    """A submission as Ray's clients send it."""

    entrypoint: str
    submission_id: str | None = None
    runtime_env: Mapping[str, object] | None = None
    metadata: Mapping[str, str] | None = None
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    others: Mapping[str, object] = field(default_factory=dict[str, object])

    def to_data(self) -> dict[str, object]:
        """What a resubmission of the same must say again; the id is not part of it."""
        return {
            "entrypoint": self.entrypoint,
            "runtime_env": self.runtime_env,
            "metadata": self.metadata,
            **self.numbers,
            **self.others,
        }

    @property
    def digest(self) -> str:
        """SHA-256 by which two submissions are the same."""
        return hashlib.sha256(canonical_json(self.to_data()).encode()).hexdigest()


def parse_request(data: object) -> RayRequest:
    """Check a submission; keys without a value do not count.

    Raises:
        UserError: it is not one, or a key is unknown or of another type.
    """
    if not isinstance(data, dict):
        raise UserError("gateway.not_object")
    given = {str(k): v for k, v in cast("dict[object, object]", data).items() if v is not None}
    unknown = sorted(set(given) - _FIELDS)
    if unknown:
        raise UserError("gateway.unknown_field", names=", ".join(unknown)[:200])
    entrypoint = given.get("entrypoint")
    if not isinstance(entrypoint, str):
        raise UserError("gateway.wrong_type", name="entrypoint", wanted="a string")
    key = given.get("submission_id", given.get("job_id"))
    if key is not None:
        check_key(key)
    return RayRequest(
        entrypoint,
        cast("str | None", key),
        _mapping(given, "runtime_env"),
        cast("Mapping[str, str] | None", _mapping(given, "metadata", str)),
        {name: _number(given, name) for name in _NUMBERS if name in given},
        {
            name: _mapping(given, name, kind)
            for name, kind in (("entrypoint_resources", (int, float)), ("entrypoint_label_selector", str))
            if name in given
        },
    )


def check_key(key: object) -> None:
    """Refuse a submission id that is no short, printable text."""
    if not isinstance(key, str):
        raise UserError("gateway.wrong_type", name="submission_id", wanted="a string")
    if not key or len(key) > KEY_CHARACTERS or not key.isprintable() or "/" in key:
        raise UserError("gateway.bad_key", limit=KEY_CHARACTERS)


def _mapping(
    given: Mapping[str, object], name: str, kind: type | tuple[type, ...] = object
) -> dict[str, object] | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise UserError("gateway.wrong_type", name=name, wanted="an object")
    items = cast("dict[str, object]", value)
    if not all(isinstance(item, kind) for item in items.values()):
        wanted = "an object of strings" if kind is str else "an object of numbers"
        raise UserError("gateway.wrong_type", name=name, wanted=wanted)
    return items


def _number(given: Mapping[str, object], name: str) -> float:
    value = given[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise UserError("gateway.wrong_type", name=name, wanted="a number")
    return value


def status_of(state: RunState) -> str:
    """A run's state in Ray's words: whatever waits is PENDING."""
    return _STATUS.get(state, "PENDING")


def details_of(
    run: RunRow, attempts: list[AttemptRow], driver_address: str, reason: str
) -> dict[str, object]:
    """A run as Ray's `JobDetails`; `reason` is why it waits or failed, in words."""
    status = status_of(run.state)
    resolved = cast("dict[str, object]", run.spec.get("resolved") or {})
    request = cast("dict[str, object]", resolved.get("request") or {})
    job = cast("dict[str, object]", run.spec.get("job") or {})
    started = bool(attempts) and status != "PENDING"
    last = attempts[-1] if attempts else None
    return {
        "type": "SUBMISSION",
        "job_id": None,
        "submission_id": run.request_key,
        "driver_info": None,
        "status": status,
        "entrypoint": request.get("entrypoint", job.get("entrypoint", "")),
        "message": _message(status, reason),
        "error_type": _error_type(run) if status == "FAILED" else None,
        "start_time": run.created // 1000,
        "end_time": None if run.ended is None else run.ended // 1000,
        "metadata": {"job_submission_id": run.request_key, **_words(request.get("metadata")), **_ours(run)},
        "runtime_env": request.get("runtime_env") or {},
        "driver_agent_http_address": driver_address if started else None,
        "driver_node_id": _node_id(last) if started and last is not None else None,
        "driver_exit_code": last.exit_code if last is not None and status in _WITH_EXIT_CODE else None,
    }


def _words(metadata: object) -> dict[str, str]:
    return cast("dict[str, str]", metadata) if isinstance(metadata, dict) else {}


def _ours(run: RunRow) -> dict[str, str]:
    return {"headway_run": run.id, "headway_state": run.state.value}


def _message(status: str, reason: str) -> str:
    if status == "PENDING":
        return f"Job has not started yet. {reason}".strip()
    if status == "FAILED":
        return f"Job failed. {reason}".strip()
    return _MESSAGES[status]


def _error_type(run: RunRow) -> str:
    return _ERROR_TYPES.get(run.failure_class or "", "JOB_ENTRYPOINT_COMMAND_ERROR")


def _node_id(attempt: AttemptRow) -> str:
    """As long as Ray's: what stands for the node, since Ray's own id is not known outside of it."""
    return hashlib.sha256(attempt.lease_holder.split("/", 1)[0].encode()).hexdigest()[:56]
