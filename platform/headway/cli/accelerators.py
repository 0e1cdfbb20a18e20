"""`headway accelerators`: GPUs, CPUs, TPUs and NPUs side by side, and what each lacks."""

from __future__ import annotations

from typing import Any

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text


@click.command("accelerators", help=text("cli.accelerators"))
@click.option(
    "--kind", type=click.Choice(["GPU", "CPU", "TPU", "NPU"], case_sensitive=False), help=text("cli.kind")
)
@output_option
def command(kind: str | None, output: str) -> None:
    """List accelerators."""
    from headway.catalog.tables import accelerators
    from headway.reports.catalogue import accelerator_rows
    from headway.reports.document import SCHEMA_VERSION

    rows = [
        row
        for row in accelerator_rows(accelerators().values())
        if kind is None or row["kind"] == kind.upper()
    ]
    flat = [_flat(row) for row in rows]
    document = {"schema_version": SCHEMA_VERSION, "accelerators": rows}
    emit(output, document, flat, lambda: _table(rows))


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row for CSV: one column for each peak, lists as words."""
    plain = {key: value for key, value in row.items() if key != "peak_flops"}
    lists = {key: " ".join(row[key]) for key in ("lacks", "assumed")}
    return {**plain, **lists, **_peaks(row)}


def _peaks(row: dict[str, Any]) -> dict[str, float | None]:
    return {f"peak_{name}": row["peak_flops"].get(name) for name in ("fp32", "bf16", "fp16", "fp8", "int8")}


def _table(rows: list[dict[str, Any]]) -> str:
    from headway.units import format_bytes

    names = ("key", "kind", "memory", "bandwidth", "fp32", "bf16", "watts", "flops_per_watt", "lacks")
    cells = [[text(f"accelerators.{name}") for name in names]]
    for row in rows:
        peaks, watts = row["peak_flops"], row["tdp_watts"]
        best = peaks.get("bf16") or peaks.get("fp16") or peaks.get("fp32")
        cells.append(
            [
                row["key"],
                row["kind"],
                format_bytes(row["memory_bytes"]) if row["memory_bytes"] else "?",
                f"{row['memory_bytes_per_second'] / 1e9:,.0f}" if row["memory_bytes_per_second"] else "?",
                f"{peaks['fp32'] / 1e12:.3g}" if "fp32" in peaks else "-",
                f"{peaks['bf16'] / 1e12:.3g}" if "bf16" in peaks else "-",
                f"{watts:.3g}" if watts else "?",
                f"{best / watts / 1e9:.3g}" if best and watts else "?",
                " ".join(row["lacks"]),
            ]
        )
    return columns(cells, right=(2, 3, 4, 5, 6, 7))
