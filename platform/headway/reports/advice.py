"""PURE. Advice as a document and as lines for people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from headway.messages import text
from headway.planner.advise import Advice, Crossing, Option, Terms
from headway.units import format_amount, format_seconds


def advice_document(
    name: str, advice: Advice, terms: Terms, currency: str, basis: str, assumed: tuple[str, ...]
) -> dict[str, Any]:
    """All of it; amounts are decimal text."""
    return {
        "schema_version": 1,
        "name": name,
        "currency": currency,
        "bound": advice.shares.bound,
        "shares": {
            "compute": round(advice.shares.compute, 4),
            "communication": round(advice.shares.communication, 4),
            "data": round(advice.shares.data, 4),
            "memory_left": round(advice.shares.memory_left, 4),
        },
        "now": _option(advice.now),
        "best": _option(advice.best),
        "options": [_option(option) for option in advice.options],
        "payback_runs": None if advice.payback_runs is None else f"{advice.payback_runs:.2f}",
        "crossings": [_crossing(one) for one in advice.crossings],
        "terms": {
            "runs": f"{terms.runs:f}",
            "hour": f"{terms.hour:f}",
            "day": f"{terms.day:f}",
            "hours": {key: f"{value:f}" for key, value in terms.hours.items()},
        },
        "assumed": list(assumed),
        "basis": basis,
    }


def _option(option: Option) -> dict[str, Any]:
    setup = option.setup
    return {
        "kind": option.kind,
        "changes": list(option.changes),
        "offering": setup.offering.key,
        "nodes": setup.nodes,
        "precision": setup.precision,
        "sharding": setup.recipe.sharding,
        "recompute": setup.recipe.recompute,
        "lean_layers": setup.recipe.lean,
        "micro_batch": setup.recipe.micro_batch,
        "data_mended": setup.data_mended,
        "seconds": round(option.seconds, 1),
        "run_cost": f"{option.run_cost:.6f}",
        "kwh": round(option.kwh, 6),
        "hours": f"{option.hours:f}",
        "total": f"{option.total:.6f}",
    }


def _crossing(crossing: Crossing) -> dict[str, Any]:
    return {
        "input": crossing.name,
        "at": None if crossing.at is None else f"{crossing.at:.6f}",
        "then": None if crossing.better is None else _what(crossing.better),
    }


def _what(option: Option) -> str:
    return ", ".join(text(f"advise.change_{name}") for name in option.changes) or text("advise.stay")


def advice_lines(
    name: str, advice: Advice, terms: Terms, currency: str, basis: str, assumed: tuple[str, ...]
) -> list[str]:
    """The advice in words, the figures that it rests on below it."""
    shares = advice.shares
    lines = [
        text("advise.title", name=name, offering=advice.now.setup.offering.key, nodes=advice.now.setup.nodes),
        text(
            "advise.shares",
            bound=text(f"advise.bound_{shares.bound}"),
            compute=f"{shares.compute:.0%}",
            communication=f"{shares.communication:.0%}",
            data=f"{shares.data:.0%}",
            memory=f"{shares.memory_left:.0%}",
        ),
        text("advise.best", what=_what(advice.best), **_figures(advice.best, currency)),
    ]
    if advice.payback_runs is not None:
        lines.append(text("advise.payback", runs=f"{advice.payback_runs:,.1f}"))
    lines += [text("advise.crossing", **_said(one, terms)) for one in advice.crossings if one.at is not None]
    if assumed:
        lines.append(text("advise.assumed", names=", ".join(assumed)))
    lines.append(text("advise.basis", basis=basis))
    return lines


def _said(crossing: Crossing, terms: Terms) -> dict[str, object]:
    now = {"runs": terms.runs, "hour": terms.hour, "day": terms.day}[crossing.name]
    return {
        "input": text(f"advise.input_{crossing.name}"),
        "now": format_amount(now),
        "at": format_amount(crossing.at or Decimal(0)),
        "then": "-" if crossing.better is None else _what(crossing.better),
    }


def _figures(option: Option, currency: str) -> dict[str, object]:
    setup = option.setup
    return {
        "offering": setup.offering.key,
        "nodes": setup.nodes,
        "time": format_seconds(option.seconds),
        "cost": f"{format_amount(option.run_cost)} {currency}",
        "kwh": f"{option.kwh:.3g}",
        "hours": f"{option.hours:f}",
        "total": f"{format_amount(option.total)} {currency}",
    }


def option_rows(advice: Advice, currency: str) -> list[list[str]]:
    """The best of each set of changes, as cells: what, where, machines, time, cost, kWh, hours, total."""
    rows: list[list[str]] = []
    for option in advice.options:
        found = _figures(option, currency)
        setup = option.setup
        recipe = f"{setup.recipe.sharding} · µ {setup.recipe.micro_batch}"
        recipe += " · recompute" * setup.recipe.recompute + " · lean" * setup.recipe.lean
        rows.append(
            [
                _what(option),
                f"{found['nodes']} × {found['offering']}",
                f"{setup.precision} · {recipe}",
                str(found["time"]),
                str(found["cost"]),
                str(found["kwh"]),
                str(found["hours"]),
                str(found["total"]),
            ]
        )
    return rows
