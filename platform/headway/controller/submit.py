"""From a job spec to a run in the ledger and a supervisor that owns it."""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from headway.catalog.types import HereFigures
from headway.controller.cores import check_devices_and_memory, check_fits
from headway.controller.figures import figures_of
from headway.controller.recipes import recipe_of_job
from headway.controller.tracing import batch_of_job, gate_job
from headway.controller.workdir import find_workdir
from headway.errors import StateError, UserError
from headway.profile.gated import Gated
from headway.runs import queries
from headway.runs.events import EventKind
from headway.runs.ids import RANDOM_BYTES, new_run_id
from headway.runs.rows import RunRow
from headway.runs.states import RunState
from headway.runs.store import Ledger, Recorder
from headway.settings import Settings
from headway.spec.job import JobSpec

_SHELL_WORDS = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"})


def check_program(entrypoint: str) -> None:
    """Refuse an entrypoint whose program does not exist, before anything is recorded."""
    words = shlex.split(entrypoint)
    program = words[0]
    shell = next((word for word in words[1:] if word in _SHELL_WORDS), None)
    if shell is not None:
        raise UserError("submit.shell", word=shell)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    if "/" not in program and shutil.which(program, path=path) is None:
        raise UserError("submit.no_program", program=program)


def create_run(
    settings: Settings,
    ledger: Ledger,
    spec: JobSpec,
    job_file: Path,
    extra: Sequence[str] = (),
    *,
    shutdown: bool = False,
    tell: Callable[[Gated], None] | None = None,
) -> str:
    """Record a run as QUEUED; gives its id. `tell` hears what the gradient gate found, if it was run.

    `extra` words are added to the entrypoint; `shutdown` turns the machine off when the run has ended.
    Nothing is recorded when the machine can never hold the run, a secret is not set, or the script does
    not exist.
    """
    entrypoint = shlex.join([*shlex.split(spec.entrypoint), *extra])
    check_program(entrypoint)
    workdir, script = find_workdir(entrypoint, job_file, Path.cwd())
    figures = figures_of(settings)
    check_fits(spec.workers * spec.needs.cpus_per_worker, figures)
    _check_budget_currency(spec, figures)
    check_devices_and_memory(spec.needs.gpus.min, (spec.needs.memory_per_worker or 0) * spec.workers)
    missing = [secret.variable for secret in spec.secrets if secret.variable not in os.environ]
    if missing:
        raise UserError("submit.no_secret", names=", ".join(missing))
    storage = _storage(spec.storage)
    found = prepare(settings, spec, workdir, script, tell)
    resolved = {
        **_as_read(spec),
        "entrypoint": entrypoint,
        "workdir": str(workdir),
        "storage": storage,
        "shutdown_when_done": shutdown,
        **{name: value for name, value in found.items() if name != "code_sha"},
    }
    run_id = new_run_id(spec.name, secrets.token_bytes(RANDOM_BYTES))
    recorder = Recorder(ledger, f"cli:{run_id}")
    body: dict[str, object] = {
        "name": spec.name,
        "team": spec.team,
        "project": spec.project,
        "owner": spec.owner,
        "labels": dict(spec.labels),
        "spec": {
            "job": spec.to_data(),
            "resolved": resolved,
        },
        "code_sha": found["code_sha"],
    }
    recorder.append(EventKind.SUBMITTED, body, run_id)
    (settings.run_folder(run_id)).mkdir(parents=True, exist_ok=True)
    return run_id


def prepare(
    settings: Settings,
    spec: JobSpec,
    workdir: Path,
    script: Path | None,
    tell: Callable[[Gated], None] | None = None,
) -> dict[str, object]:
    """What is found out with the job's code at hand: recipe, micro-batch, gradient gate, the script's hash.

    `tell` hears what the gate found, if it was run.

    Raises:
        UserError: the gate refuses the recipe.
    """
    gate = _gate(settings, spec, workdir)
    if gate is not None and tell is not None:
        tell(gate)
    recipe = recipe_of_job(spec)
    return {
        "recipe": None if recipe is None else recipe.to_data(),
        "gate": None if gate is None else gate.to_data(),
        **_batch(spec, workdir),
        "code_sha": None if script is None else hashlib.sha256(script.read_bytes()).hexdigest(),
    }


def _as_read(spec: JobSpec) -> dict[str, object]:
    """What a supervisor needs of the job file, its defaults filled in."""
    return {
        "env": dict(spec.env),
        "secrets": {secret.name: secret.variable for secret in spec.secrets},
        "workers": spec.workers,
        "cpus_per_worker": spec.needs.cpus_per_worker,
        "method": spec.workload.method.kind if spec.workload is not None else "full",
        "budget": None if spec.limits.budget is None else f"{spec.limits.budget.amount:f}",
        "retries": spec.retries.model_dump(exclude_unset=True, by_alias=True),
    }


def _batch(spec: JobSpec, workdir: Path) -> dict[str, object]:
    """The recipe with the micro-batch that is predicted to fit, and that prediction, where one is chosen."""
    found, recipe = batch_of_job(spec, workdir), recipe_of_job(spec)
    if found is None or recipe is None or spec.workload is None or spec.needs.memory_per_worker is None:
        return {}
    share = max(1, (spec.workload.global_batch or 1) // spec.workers)
    parts = -(-share // found.micro_batch)
    chosen = replace(recipe, micro_batch=found.micro_batch, accumulation=parts)
    room = {
        "predicted_bytes": found.predicted_bytes,
        "fixed_bytes": found.fixed_bytes,
        "capacity_bytes": found.capacity_bytes,
    }
    return {"recipe": chosen.to_data(), "room": room}


def _gate(settings: Settings, spec: JobSpec, workdir: Path) -> Gated | None:
    """Refuse a recipe that changes gradients, before anything is recorded.

    Raises:
        UserError: the gate refuses it, or cannot be run on the job's model.
    """
    found = gate_job(settings, spec, workdir)
    if found is not None and found.problems:
        several = "; ".join(found.problems[:3]) + ("; …" if len(found.problems) > 3 else "")
        raise UserError("gate.refused", problems=several)
    return found


def _check_budget_currency(spec: JobSpec, figures: HereFigures) -> None:
    budget = spec.limits.budget
    if budget is not None and budget.currency != figures.currency:
        raise UserError("submit.budget_currency", budget=budget.currency, site=figures.currency)


def _storage(storage: str | None) -> str | None:
    if storage is None:
        return None
    if "://" in storage:
        raise UserError("submit.remote_storage", storage=storage)
    return str(Path(storage).expanduser().absolute())


def check_code(run: RunRow) -> bool:
    """Whether the run's script is still the one that it was submitted with (True where that is unknown)."""
    resolved = cast("dict[str, str]", run.spec["resolved"])
    if run.code_sha is None:
        return True
    words = shlex.split(resolved["entrypoint"])
    script = next((Path(resolved["workdir"]) / word for word in words if word.endswith(".py")), None)
    if script is None or not script.is_file():
        return False
    return hashlib.sha256(script.read_bytes()).hexdigest() == run.code_sha


def reopen_run(ledger: Ledger, run_id: str) -> None:
    """Put an ended run back into the queue for a new attempt.

    Raises:
        StateError: the run has not ended, or has succeeded.
    """
    with ledger.read() as connection:
        run = queries.get_run(connection, run_id)
    if not run.state.is_resumable:
        raise StateError("runs.not_resumable", run=run_id, state=run.state.value)
    recorder = Recorder(ledger, f"cli:{run_id}")
    body: dict[str, object] = {"to": RunState.QUEUED.value, "resume": True}
    recorder.append(EventKind.RUN_STATE, body, run_id)


def request_stop(ledger: Ledger, run_id: str, mode: str) -> None:
    """Ask the run's present attempt to stop: `checkpoint` or `now`."""
    with ledger.read() as connection:
        attempts = queries.attempts(connection, run_id)
    recorder = Recorder(ledger, f"cli:{run_id}")
    number = attempts[-1].n if attempts else 1
    recorder.append(EventKind.STOP_REQUESTED, {"mode": mode}, run_id, number)


def start_supervisor(settings: Settings, run_id: str) -> None:
    """Start the detached process that owns the run from now on."""
    folder = settings.run_folder(run_id)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "supervisor.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-m", "headway.controller.supervisor", run_id],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=settings.home,
            env={
                **os.environ,
                "HEADWAY_HOME": str(settings.home),
                "HEADWAY_SITES": str(settings.sites_path or ""),
            },
        )
