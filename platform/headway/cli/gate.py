"""`headway gate`: a recipe's gradients against the plain model's, on this machine's processor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.render import emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from headway.profile.gated import Gated


@click.command("gate", help=text("cli.gate"))
@click.argument("job", type=click.Path(path_type=Path))
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@output_option
def command(job: Path, overrides: tuple[str, ...], output: str) -> int:
    """Run the gate; exit code 2 when it refuses the recipe."""
    from headway.controller.samples import resolve_job
    from headway.controller.tracing import folder_of, gate_job
    from headway.errors import UserError
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings
    from headway.spec.files import load_job

    path = resolve_job(job)
    spec = load_job(path, overrides).spec
    found = gate_job(Settings.load(), spec, folder_of(spec, path))
    if found is None:
        raise UserError("gate.nothing")
    document = {"schema_version": SCHEMA_VERSION, "gate": found.to_data()}
    row = {key: value for key, value in found.to_data().items() if not isinstance(value, list | dict)}
    emit(output, document, [row], lambda: "\n".join(gate_lines(found)))
    return 2 if found.problems else 0


def gate_lines(found: Gated) -> list[str]:
    """What the gate found, as a person reads it."""
    changed = ", ".join(f"{name} {count}" for name, count in found.changed)
    lines = [verdict(found)] if not found.problems else []
    lines += [text("gate.problem", problem=problem) for problem in found.problems]
    if changed:
        lines.append(text("gate.changed", list=changed))
    lines += [text("gate.note", note=note) for note in found.notes]
    return [*lines, text("gate.scope", scope=found.scope)]


def verdict(found: Gated) -> str:
    """One line: passed, before or now, and by how much."""
    name = "gate.passed_lossy" if found.lossy else "gate.passed_before" if found.remembered else "gate.passed"
    difference = "-" if found.worst_difference is None else f"{found.worst_difference:.1e}"
    values = {"count": found.compared, "difference": difference, "parameter": found.worst or "-"}
    return text(name, **values, **({"lossy": ", ".join(found.lossy)} if found.lossy else {}))
