"""`headway plan`: where a job would run, how long, for how much, and why not elsewhere."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.controller.planning import Planned
    from headway.planner.types import Rival


MOST_ROWS = 40


@click.command("plan", help=text("cli.plan"))
@click.argument("job", type=click.Path(path_type=Path))
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@output_option
def command(job: Path, overrides: tuple[str, ...], output: str) -> int:
    """Plan a job file; exit code 5 when nothing meets its limits."""
    from headway.controller.planning import plan_job
    from headway.controller.samples import resolve_job
    from headway.controller.tracing import folder_of
    from headway.reports.plan import hybrid_rows, plan_document
    from headway.settings import Settings
    from headway.spec.files import load_job

    path = resolve_job(job)
    loaded = load_job(path, overrides)
    planned = plan_job(Settings.load(), loaded.spec, folder_of(loaded.spec, path))
    provenance = {
        "snapshot_sha256": planned.snapshot_sha,
        "snapshot_date": planned.snapshot_date,
        "snapshot_age_days": planned.snapshot_age_days,
        "sites": planned.sites_file or "sample",
    }
    document = plan_document(planned.work, planned.limits, planned.result, provenance)
    document["hybrids"] = hybrid_rows(planned.hybrids)
    emit(output, document, document["offerings"], lambda: plan_text(loaded.spec.name, planned))
    return 0 if planned.result.chosen is not None else 5


def plan_text(name: str, planned: Planned) -> str:
    """The plan as a person reads it."""
    from headway.planner.types import Verdict
    from headway.reports.plan import plan_rows, why

    work, result = planned.work, planned.result
    profile = work.profile
    winning = {Verdict.CHOSEN, Verdict.ALTERNATIVE}
    every = [rival for rival in result.rivals if rival.verdict in winning]
    ranked, losers = every[:MOST_ROWS], [one for one in result.rivals if one.verdict not in winning]
    lines = [
        text(
            "plan.title",
            name=name,
            parameters=f"{profile.parameters / 1e6:,.1f}",
            method=profile.method,
            samples=f"{work.samples:,}",
            seq_len=profile.seq_len,
            batch=f"{work.global_batch:,}",
        ),
        "",
    ]
    if ranked:
        head = [
            text(f"plan.{key}")
            for key in ("where", "machines", "recipe", "fit", "time", "cost", "kwh", "carbon")
        ]
        rows = plan_rows(type(result)(tuple(ranked)))
        cells = [
            [
                str(number),
                row.where,
                row.machines,
                row.recipe,
                row.fit,
                row.time,
                row.cost,
                row.kwh,
                row.carbon,
            ]
            for number, row in enumerate(rows, start=1)
        ]
        lines.append(columns([["#", *head], *cells], right=(7, 8)))
        lines.extend(f"  {number}. {why(rival)}" for number, rival in enumerate(ranked, start=1))
        lines.extend(_more(every))
    else:
        lines.append(text("plan.nothing_but" if result.would_do else "plan.nothing"))
    lines.extend(_interruptions(result.chosen))
    lines.extend([*_moving(planned), *_hybrid(planned), *_other_currencies(planned)])
    if losers:
        lines.extend(["", text("plan.not_chosen", count=len(losers))])
        lines.extend(
            _loser(rival.verdict.value, rival.offering.key, rival.offering.instance, why(rival))
            for rival in losers[:MOST_ROWS]
        )
        lines.extend(_more(losers))
    return "\n".join([*lines, "", *_basis(planned)])


def _more(rivals: Sequence[Rival]) -> list[str]:
    left = len(rivals) - MOST_ROWS
    return [text("plan.more", count=f"{left:,}")] if left > 0 else []


def _interruptions(chosen: Rival | None) -> list[str]:
    from headway.units import format_seconds

    found = chosen.prediction if chosen is not None else None
    if found is None or found.checkpoint_every_seconds is None:
        return []
    every = format_seconds(found.checkpoint_every_seconds)
    return [text("plan.interruptions", count=f"{found.interruptions:.2g}", every=every)]


def _hybrid(planned: Planned) -> list[str]:
    """The cheapest run over two sites, where one is worthwhile."""
    from headway.units import format_amount, format_seconds

    if not planned.hybrids:
        return []
    found = planned.hybrids[0]
    alone = found.saved is not None
    lines = [
        text(
            "plan.hybrid" if alone else "plan.hybrid_only",
            first=found.first.key,
            second=found.second.key,
            share=f"{found.share:.0%}",
            time=format_seconds(found.seconds),
            cost=f"{format_amount(found.cost)} {found.first.currency}",
            saved=format_amount(found.saved or Decimal(0)),
            alone=found.alone,
        )
    ]
    if found.unknown_egress:
        lines.append(text("plan.hybrid_unknown", sites=", ".join(found.unknown_egress)))
    return lines


def _moving(planned: Planned) -> list[str]:
    """What the chosen plan moves between sites."""
    from headway.units import format_amount, format_bytes, format_seconds

    chosen, work = planned.result.chosen, planned.work
    found = None if chosen is None else chosen.prediction
    if chosen is None or found is None or found.moving_cost is None:
        return []
    lines = [
        text(
            "plan.moving",
            size=format_bytes(work.data_bytes or 0),
            site=work.data_site,
            time=format_seconds(found.moving_seconds),
            cost=f"{format_amount(found.moving_cost)} {chosen.offering.currency}",
        )
    ]
    if found.unknown_egress is not None:
        lines.append(text("plan.moving_unknown", site=found.unknown_egress))
    return lines


def _other_currencies(planned: Planned) -> list[str]:
    """Offerings that meet the limits at prices which the chosen one was not compared with."""
    chosen = planned.result.chosen
    if chosen is None:
        return []
    main = chosen.offering.currency
    apart = [
        f"{rival.offering.key} ({rival.offering.currency})"
        for rival in planned.result.rivals
        if rival.verdict.value in {"alternative", "dominated"} and rival.offering.currency != main
    ]
    return [text("plan.other_currencies", currency=main, keys=", ".join(apart))] if apart else []


def _basis(planned: Planned) -> list[str]:
    """Where the figures come from."""
    lines = [text("plan.prices", date=planned.snapshot_date, days=planned.snapshot_age_days)]
    chosen = planned.result.chosen
    if chosen is not None:
        efficiency, offering = chosen.offering.efficiency, chosen.offering
        lines.append(text("plan.efficiency", share=f"{efficiency.expected:.0%}", basis=efficiency.basis))
        lines.append(text("plan.price_basis", basis=offering.price_basis, source=offering.price_source))
    lines.append(text("plan.memory", basis=planned.work.profile.basis))
    if planned.sites_file is None:
        lines.append(text("plan.sample_sites"))
    return lines


def _loser(verdict: str, key: str, instance: str, reason: str) -> str:
    return f"  {text(f'verdict.{verdict}')}: {key} ({instance}): {reason}"
