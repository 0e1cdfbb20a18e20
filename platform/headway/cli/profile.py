"""`headway profile`: a job's model traced on fake tensors: its peak by category, and what its blocks keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from headway.profile.traced import Found


@click.command("profile", help=text("cli.profile"))
@click.argument("job", type=click.Path(path_type=Path))
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@output_option
def command(job: Path, overrides: tuple[str, ...], output: str) -> None:
    """Trace a job's model, or show the stored trace; plans of the job use it from then on."""
    from headway.controller.samples import resolve_job
    from headway.controller.tracing import folder_of, traced
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings
    from headway.spec.files import load_job

    path = resolve_job(job)
    spec = load_job(path, overrides).spec
    found = traced(Settings.load(), spec, folder_of(spec, path))
    data = found.profile.to_data()
    rows = [{"part": name, "bytes": size} for name, size in found.profile.peak.by_category.items()]
    document = {"schema_version": SCHEMA_VERSION, "profile": data}
    emit(output, document, rows, lambda: profile_text(found))


def profile_text(found: Found) -> str:
    """The profile as a person reads it."""
    from headway.units import format_bytes

    profile, request, peak = found.profile, found.profile.request, found.profile.peak
    reserved = ""
    if peak.reserved_bytes is not None:
        reserved = text(
            "profiled.reserved",
            reserved=format_bytes(peak.reserved_bytes),
            context=format_bytes(peak.context_bytes),
        )
    parts = [[name, format_bytes(size)] for name, size in peak.by_category.items() if size]
    tokens = request.micro_batch * request.seq_len
    kept = {
        name: f"{name} {function.at(request.micro_batch, request.seq_len) / tokens:,.0f} B"
        for name, function in profile.saved.items()
    }
    work = peak.work
    lines = [
        text(
            "profiled.title",
            name=request.name,
            parameters=f"{profile.parameters / 1e6:,.1f}",
            layers=profile.layers,
            method=request.method,
            batch=request.micro_batch,
            length=request.seq_len,
            precision=request.recipe.precision,
            optimizer=request.optimizer,
            rules=request.rules,
        ),
        text("profiled.peak", peak=format_bytes(peak.peak_bytes), phase=peak.peak_phase, reserved=reserved),
        "",
        columns([[text("profiled.head_part"), text("profiled.head_bytes")], *parts], right=(1,)),
        "",
        *([text("profiled.blocks", kept=" · ".join(kept.values()))] if kept else []),
        text(
            "profiled.flops",
            forward=f"{work.forward_flops:.3g}",
            backward=f"{work.backward_flops:.3g}",
            recompute=f"{work.recompute_flops:.3g}",
            moved=format_bytes(work.moved_bytes),
        ),
        text(
            "profiled.basis",
            torch=profile.versions.torch,
            transformers=profile.versions.transformers,
            kernel=profile.versions.loss_kernel,
            how=text("profiled.how_stored" if found.stored else "profiled.how_now"),
        ),
    ]
    if found.ignored:
        lines.append(text("profiled.ignored", reason=found.ignored))
    return "\n".join(lines)
