"""PURE. Prices and accelerators as rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from headway.catalog.aws_fetch import NOT_AGAIN, Fetched
from headway.catalog.refreshed import Refreshed, Section
from headway.catalog.table import Change
from headway.catalog.types import Accelerator, ListedPrice

_WORTH_HAVING = ("memory_bytes", "memory_bytes_per_second", "tdp_watts", "idle_watts")


def day(microseconds: int | None) -> str | None:
    """A ledger time as an ISO day."""
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).date().isoformat()


def price_rows(prices: Iterable[ListedPrice]) -> list[dict[str, Any]]:
    """Prices as plain rows; an undated one says so."""
    return [
        {
            "instance": price.instance,
            "region": price.region,
            "capacity": price.capacity,
            "price_per_hour": price.price_text,
            "currency": price.currency,
            "from": day(price.effective_from) if price.dated else None,
            "to": day(price.effective_to),
            "last_seen": day(price.last_seen),
            "dated": price.dated,
            "source": price.source,
            "provider": price.provider,
            "zone": price.zone,
            "terms": price.terms,
        }
        for price in prices
    ]


def change_rows(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """What is priced otherwise; `before` or `now` is None where there is no such price."""
    rows: list[dict[str, Any]] = []
    for change in changes:
        price = change.now or change.before
        if price is None:
            continue
        rows.append(
            {
                "provider": price.provider,
                "instance": price.instance,
                "region": price.region,
                "capacity": price.capacity,
                "zone": price.zone,
                "terms": price.terms,
                "before": None if change.before is None else change.before.price_text,
                "now": None if change.now is None else change.now.price_text,
                "currency": price.currency,
            }
        )
    return rows


def refreshed_document(done: Refreshed) -> dict[str, Any]:
    """What a refresh took over, refused, and could not get."""
    return {
        "schema_version": 1,
        "sha256": done.prices_sha256,
        "sections": [
            {
                "section": section.name,
                "prices": len(section.prices),
                "machines": len(section.machines),
                "fetched": day(section.fetched_at),
            }
            for section in done.taken
        ],
        "changes": change_rows(done.changes),
        "refused": [
            {
                "instance": one.price.instance,
                "region": one.price.region,
                "capacity": one.price.capacity,
                "price": one.price.price_text,
                "currency": one.price.currency,
                "known": one.known_price_text,
                "why": one.why,
            }
            for one in done.refused
        ],
        "failed": [{"section": f"{one.kind}/{one.region}", "problem": one.problem} for one in done.failed],
        "skipped": done.skipped,
        "left_aside": None if done.aside is None else str(done.aside),
    }


def failed_rows(failed: Iterable[Fetched]) -> list[dict[str, str]]:
    """What could not be fetched, one row for each reason."""
    reasons: dict[str, list[str]] = {}
    for one in failed:
        reasons.setdefault(one.problem.removeprefix(NOT_AGAIN), []).append(f"{one.kind}/{one.region}")
    return [{"section": ", ".join(names), "problem": problem} for problem, names in reasons.items()]


def import_rows(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """What was imported, as plain rows."""
    return [
        {
            "name": section.label,
            "imported": day(section.fetched_at),
            "prices": len(section.prices),
            "file": section.file or section.source,
        }
        for section in sections
    ]


def accelerator_rows(devices: Iterable[Accelerator]) -> list[dict[str, Any]]:
    """Accelerators as plain rows; `lacks` names what is not known or not there."""
    return [
        {
            "key": device.key,
            "kind": device.kind,
            "vendor": device.vendor,
            "name": device.name,
            "memory_bytes": device.memory_bytes,
            "memory_bytes_per_second": device.memory_bytes_per_second,
            "peak_flops": dict(device.peak_flops),
            "tdp_watts": device.tdp_watts,
            "year": device.year,
            "lacks": lacks(device),
            "assumed": list(device.assumed),
            "source": device.source,
            "note": device.note,
        }
        for device in devices
    ]


def lacks(device: Accelerator) -> list[str]:
    """Precisions that the device has no published peak for, and figures that nobody published."""
    precisions = [name for name in ("bf16", "fp16", "fp8") if name not in device.peak_flops]
    figures = [name for name in _WORTH_HAVING if getattr(device, name) is None]
    return [*precisions, *figures]
