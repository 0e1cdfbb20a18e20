"""One job on every kind of accelerator: time, dollars and watts, and what each cannot do."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from headway.catalog.tables import accelerators
from headway.catalog.types import Accelerator
from headway.controller.comparison import NO_LIMITS
from headway.controller.efficiencies import with_efficiencies
from headway.controller.offerings import device_offering
from headway.controller.planning import check_length, precision_of
from headway.controller.pricing import Market, market_of
from headway.controller.quotes import Quote, places, quote
from headway.controller.workload import work_of
from headway.messages import text
from headway.planner.search import plan
from headway.planner.types import Rival, Verdict
from headway.reports.catalogue import lacks
from headway.reports.plan import why
from headway.settings import Settings
from headway.spec.job import JobSpec

# What our memory techniques and the stock training script were tried on.
_CURRENCY = "USD"
_NONE = Quote(None, _CURRENCY, "no on-demand price is known", "")
_INFERENCE_ONLY = "inference only"  # as the catalogue notes of a device
_OTHER_STACK = {"TPU": "needs PyTorch/XLA or JAX", "NPU": "needs its vendor's stack", "FPGA": "no training"}


def device_rows(settings: Settings, spec: JobSpec, count: int, folder: Path | None) -> list[dict[str, Any]]:
    """Each accelerator in the catalogue, `count` of it, fastest first; those that cannot run it last.

    Dollars are by the cheapest on-demand price of one such device in an instance; None where none is known.

    Raises:
        UserError: the job file names no model, or one that is not known.
    """
    check_length(spec)
    work, market, now = work_of(spec, settings, folder), market_of(settings), time.time_ns() // 1000
    limits = replace(NO_LIMITS, precision=precision_of(spec))
    cheapest = _cheapest(market, now)
    rows: list[dict[str, Any]] = []
    for device in accelerators().values():
        known, where = cheapest.get(device.key, (_NONE, ""))
        plain = device_offering(device, count, known)
        (offering,) = with_efficiencies([plain], work)
        (rival,) = plan(work, [offering], limits).rivals
        cannot = _cannot(device, rival)
        found = None if cannot else rival.prediction
        rows.append(
            {
                "accelerator": device.key,
                "kind": device.kind,
                "year": device.year,
                "seconds": None if found is None else round(found.seconds.expected, 1),
                "cost": None if found is None or found.cost is None else f"{found.cost:.6f}",
                "currency": known.currency,
                "price_of": where,
                "price_basis": known.basis if where else "",
                "watts": None if device.tdp_watts is None else device.tdp_watts * count,
                "kwh": None if found is None or device.tdp_watts is None else round(found.kwh, 6),
                "efficiency": offering.efficiency.basis,
                "cannot": cannot,
                "notes": _notes(device),
            }
        )
    return sorted(rows, key=lambda row: (row["seconds"] is None, row["seconds"] or 0.0, row["accelerator"]))


def _cannot(device: Accelerator, rival: Rival) -> list[str]:
    if _INFERENCE_ONLY in device.note:
        return [text("compare.inference_only")]
    return [why(rival)] if rival.verdict in {Verdict.TOO_SMALL, Verdict.UNSUITED} else []


def _notes(device: Accelerator) -> list[str]:
    other = _OTHER_STACK.get(device.kind)
    return [*([] if other is None else [other]), *lacks(device)]


def _cheapest(market: Market, now: int) -> dict[str, tuple[Quote, str]]:
    """The least on-demand price of one device for an hour in USD, and its instance, by the device's key."""
    best: dict[str, tuple[Quote, str]] = {}
    for place in places(market, now):
        kind = market.machines.get((place.provider, place.instance))
        if kind is None or place.capacity != "on-demand":
            continue
        if kind.accelerator is None or kind.accelerator_count < 1:
            continue
        known = quote(market, place, now)
        if known.price is None or known.currency != _CURRENCY:
            continue
        each = replace(known, price=known.price / kind.accelerator_count)
        found = (each, f"{place.provider} {place.region} {place.instance}")
        best[kind.accelerator] = min(best.get(kind.accelerator, found), found, key=_price_then_name)
    return best


def _price_then_name(found: tuple[Quote, str]) -> tuple[Decimal, str]:
    return found[0].price or Decimal(0), found[1]
