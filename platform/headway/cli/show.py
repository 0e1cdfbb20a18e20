"""`headway show`: one run, its attempts, its progress and how its job file was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from headway.reports.live import Live
    from headway.runs.rows import AttemptRow, CheckpointRow


@click.command("show", help=text("cli.show"))
@click.argument("run_id", metavar="RUN")
@output_option
def command(run_id: str, output: str) -> None:
    """Show a run."""
    from headway.cli.session import session
    from headway.controller.figures import figures_of
    from headway.controller.receipts import live_of
    from headway.runs import queries

    with session() as where, where.ledger.read() as connection:
        run = queries.get_run(connection, run_id)
        live = live_of(connection, run.id, figures_of(where.settings))
        attempts = queries.attempts(connection, run.id)
        saved = queries.checkpoints(connection, run.id)
    document = _document(live, attempts, saved)
    emit(output, document, document["attempts"], lambda: _table(live, document))


def _document(live: Live, attempts: list[AttemptRow], saved: list[CheckpointRow]) -> dict[str, Any]:
    from headway.reports.document import SCHEMA_VERSION, iso_time, money_document

    run = live.run
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run.id,
        "name": run.name,
        "team": run.team_id,
        "state": run.state.value,
        "failure_class": run.failure_class,
        "reason": run.reason,
        "created": iso_time(run.created),
        "ended": iso_time(run.ended),
        "code_sha": run.code_sha,
        "cost": None if live.cost is None else money_document(live.cost),
        "step": live.progress.step if live.progress else None,
        "steps": live.steps,
        "loss": live.progress.loss if live.progress else None,
        "attempts": [
            {
                "attempt": attempt.n,
                "state": attempt.state.value,
                "failure_class": attempt.failure_class,
                "backend": attempt.backend,
                "started": iso_time(attempt.started),
                "ended": iso_time(attempt.ended),
                "last_checkpoint_step": max((c.step for c in saved if c.attempt == attempt.n), default=None),
            }
            for attempt in attempts
        ],
        "spec": run.spec,
    }


def _table(live: Live, document: dict[str, Any]) -> str:
    from headway.reports.live import live_line

    head = [text(f"show.{name}") for name in ("attempt", "state", "started", "ended", "checkpoint")]
    rows = [
        [
            str(attempt["attempt"]),
            attempt["state"] + (f"({attempt['failure_class']})" if attempt["failure_class"] else ""),
            (attempt["started"] or "-")[:19].replace("T", " "),
            (attempt["ended"] or "-")[:19].replace("T", " "),
            "-" if attempt["last_checkpoint_step"] is None else str(attempt["last_checkpoint_step"]),
        ]
        for attempt in document["attempts"]
    ]
    resolved = document["spec"]["resolved"]
    state = document["state"] + (f"({document['failure_class']})" if document["failure_class"] else "")
    lines = [
        f"{document['run_id']}  {state}",
        live_line(live, with_bar=False),
        *([text("show.reason", reason=document["reason"])] if document["reason"] else []),
        text("show.entrypoint", entrypoint=resolved["entrypoint"], workdir=resolved["workdir"]),
        *_recipe(resolved),
        columns([head, *rows]),
    ]
    return "\n".join(lines)


def _recipe(resolved: dict[str, Any]) -> list[str]:
    """The memory recipe and what the gate found, where the run has one."""
    recipe, gate = resolved.get("recipe"), resolved.get("gate")
    if not recipe:
        return []
    said = ", ".join(f"{key} {_words(value)}" for key, value in recipe.items())
    lines = [text("show.recipe", recipe=said)]
    if gate:
        difference = gate["worst_difference"]
        shown = "-" if difference is None else f"{difference:.1e}"
        lines.append(text("show.gate", count=gate["compared_parameters"], difference=shown))
    return lines


def _words(value: object) -> str:
    if isinstance(value, list):
        return " ".join(_words(item) for item in value)
    if isinstance(value, dict):
        return "/".join(_words(item) for item in value.values())
    return str(value)
