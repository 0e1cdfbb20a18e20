"""PURE. Typed rows of the ledger, as the rooms above see them."""

from __future__ import annotations

from dataclasses import dataclass

from headway.runs.states import RunState


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the ledger shows it now; times in UTC microseconds."""

    id: str
    name: str
    team_id: str
    state: RunState
    reason: str | None
    failure_class: str | None
    spec: dict[str, object]
    code_sha: str | None
    labels: dict[str, str]
    created: int
    ended: int | None
    request_key: str = ""
    hidden: int | None = None
    owner_id: str | None = None
    parent_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One numbered try of a run."""

    run_id: str
    n: int
    state: RunState
    failure_class: str | None
    lease_epoch: int
    lease_holder: str
    lease_expires_at: int
    backend: str
    started: int
    ended: int | None
    exit_code: int | None = None
    backend_ref: str | None = None
    backend_uid: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """What a run had reached at a time."""

    attempt: int
    at: int
    step: int
    samples: int | None
    tokens: int | None
    loss: float | None


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A committed checkpoint."""

    attempt: int
    step: int
    uri: str
    manifest_sha: str
    committed_at: int
