"""Published training throughput, typed, and the constants that were fitted on it: read once, on first use."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from functools import cache

from headway.catalog.tables import data_bytes
from headway.catalog.types import ThroughputRow

ROWS_NAME = "training_throughput.csv"
FIT_NAME = "throughput_fit.json"


def throughput_rows() -> tuple[ThroughputRow, ...]:
    """The rows in the package, in their order."""
    return parse_rows(data_bytes(ROWS_NAME).decode("utf-8").splitlines())


def parse_rows(lines: Iterable[str]) -> tuple[ThroughputRow, ...]:
    """Rows of a table of the same columns."""
    return tuple(_row(row) for row in csv.DictReader(lines))


def _row(row: Mapping[str, str]) -> ThroughputRow:
    def number(name: str) -> float | None:
        return float(row[name]) if row[name] else None

    def whole(name: str) -> int | None:
        return int(float(row[name])) if row[name] else None

    return ThroughputRow(
        row_id=row["row_id"],
        model=row["model"],
        parameters=number("params"),
        active_parameters=number("active_params"),
        accelerator=row["accelerator"],
        count=whole("count") or 1,
        task=row["task"],
        parallelism=row["parallelism"],
        seq_len=whole("seq_len"),
        global_batch=whole("global_batch"),
        micro_batch=whole("micro_batch"),
        precision=row["precision"],
        recompute=row["activation_checkpointing"],
        tokens_per_second=number("tokens_per_s_per_gpu"),
        mfu=number("mfu"),
        model_flops_per_second=number("model_flops_per_s_per_gpu"),
        source=row["source"].split("@", maxsplit=1)[0],
        year=whole("year") or 0,
        note=row["note"],
    )


@cache
def throughput_fit() -> Mapping[str, object]:
    """The fitted constants with their provenance, as they stand in the package."""
    found: Mapping[str, object] = json.loads(data_bytes(FIT_NAME))
    return found
