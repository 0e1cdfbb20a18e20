"""What each figure of a job or sites file may be at least and at most: one table, printed by the docs too.

The bounds are wide: they catch a slip of the pen (a deadline of 400 years), not an ambition.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

# The YAML reader's own bounds: a hostile file costs no more memory or time than these allow.
MAX_FILE_BYTES: Final = 1_000_000
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 32
MAX_ALIASES: Final = 100
MAX_DIGITS: Final = 60


class Bound(NamedTuple):
    """The least and the most that a figure may be, both included, and what it counts."""

    low: Decimal
    high: Decimal
    unit: str


def _bound(low: str | int, high: str | int, unit: str) -> Bound:
    return Bound(Decimal(low), Decimal(high), unit)


_NANO = "0.000000001"

BOUNDS: Final[dict[str, Bound]] = {
    "name": _bound(1, 100, "characters"),
    "team": _bound(1, 100, "characters"),
    "labels": _bound(0, 64, "entries"),
    "labels.key": _bound(1, 63, "characters"),
    "labels.value": _bound(0, 256, "characters"),
    "entrypoint": _bound(1, 8192, "characters"),
    "workload.samples": _bound(1, 10**15, "samples"),
    "workload.tokens": _bound(1, 10**18, "tokens"),
    "workload.steps": _bound(1, 10**12, "steps"),
    "workload.epochs": _bound("0.001", 10**6, "epochs"),
    "workload.seq_len": _bound(1, 10**8, "tokens"),
    "workload.global_batch": _bound(1, 10**9, "samples"),
    "workload.micro_batch": _bound(1, 10**6, "samples"),
    "workload.method.rank": _bound(1, 8192, "rank"),
    "workload.method.alpha": _bound("0.001", 65536, "alpha"),
    "workload.method.targets": _bound(1, 64, "entries"),
    "memory.recipe.recompute": _bound(1, 10_000, "blocks"),
    "memory.recipe.powersgd_rank": _bound(1, 1024, "rank"),
    "needs.workers": _bound(1, 10_000, "workers"),
    "needs.gpus": _bound(0, 100_000, "GPUs"),
    "needs.cpus_per_worker": _bound(1, 1024, "cores"),
    "needs.memory_per_worker": _bound(2**20, 10**14, "bytes"),
    "data.size": _bound(0, 10**18, "bytes"),
    "limits.deadline": _bound(1, 365 * 86400, "seconds"),
    "limits.budget": _bound(_NANO, 10**9, "money"),
    "limits.latency_to_data": _bound("0.000001", 3600, "seconds"),
    "limits.sites": _bound(1, 64, "entries"),
    "limits.regions": _bound(1, 64, "entries"),
    "book.layers": _bound(1, 256, "entries"),
    "book.percent": _bound(0, 99, "percent"),
    "book.rate": _bound(_NANO, 10**6, "money"),
    "book.upfront": _bound(0, 10**9, "money"),
    "book.fee": _bound(_NANO, 10**9, "money"),
    "book.credit": _bound(_NANO, 10**9, "money"),
    "book.years": _bound(1, 5, "years"),
    "book.nodes": _bound(1, 10_000, "nodes"),
    "pip": _bound(0, 256, "entries"),
    "env": _bound(0, 256, "entries"),
    "env.key": _bound(1, 255, "characters"),
    "env.value": _bound(0, 32_768, "characters"),
    "secrets": _bound(0, 64, "entries"),
    "uri": _bound(1, 2048, "characters"),
    "retries": _bound(0, 1000, "retries"),
    "expected_duration": _bound(1, 365 * 86400, "seconds"),
    "sites": _bound(0, 256, "entries"),
    "sites.pools": _bound(1, 256, "entries"),
    "sites.pools.max_nodes": _bound(1, 10_000, "nodes"),
    "sites.pools.discount": _bound(0, 1, "share"),
    "sites.pools.queue_wait": _bound(0, 90 * 86400, "seconds"),
    "sites.latency_to_data": _bound(0, 60, "seconds"),
    "sites.egress_price": _bound(0, 1000, "money"),
    "sites.server.price": _bound(_NANO, 10**8, "money"),
    "sites.server.gpus": _bound(0, 64, "GPUs"),
    "sites.server.cores": _bound(1, 4096, "cores"),
    "sites.server.memory": _bound(2**20, 10**14, "bytes"),
    "sites.life_years": _bound("0.5", 30, "years"),
    "sites.residual": _bound(0, 1, "share"),
    "sites.cost_of_capital": _bound(0, 1, "share"),
    "sites.utilisation": _bound("0.001", 1, "share"),
    "sites.power_watts": _bound(1, 200_000, "watts"),
    "sites.pue": _bound(1, 3, "ratio"),
    "sites.tariff": _bound(0, 100, "money"),
    "sites.tariff.windows": _bound(1, 48, "entries"),
    "sites.colo": _bound(0, 10**7, "money"),
    "sites.staff": _bound(0, 10**7, "money"),
    "cluster.entries": _bound(0, 256, "entries"),
    "cluster.cpu_overcommit": _bound("0.1", 100, "ratio"),
    "cluster.head_memory": _bound(2**28, 10**13, "bytes"),
    "cluster.deadline": _bound(1, 30 * 86400, "seconds"),
    "here.core_price": _bound(0, 1000, "money"),
    "here.cores": _bound(1, 4096, "cores"),
    "here.utilisation": _bound("0.001", 1, "share"),
    "file.size": _bound(1, MAX_FILE_BYTES, "bytes"),
    "file.nodes": _bound(1, MAX_NODES, "nodes"),
    "file.depth": _bound(1, MAX_DEPTH, "levels"),
    "file.aliases": _bound(0, MAX_ALIASES, "aliases"),
    "file.digits": _bound(1, MAX_DIGITS, "characters"),
}
