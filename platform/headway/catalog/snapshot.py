"""The snapshot of prices that ships with the package: its hash, its age, its licence."""

from __future__ import annotations

import hashlib
from functools import cache

from headway.catalog.tables import data_bytes, on_demand_prices
from headway.catalog.types import Snapshot, SnapshotInfo

FILES = ("aws_ec2_on_demand_prices.csv", "aws_ec2_on_demand_prices_cn.csv", "aws_other_prices.csv")


@cache
def packaged_prices() -> Snapshot:
    """The bytes of all price files, one after the other, and the newest day that they speak of."""
    body = b"".join(f"# {name}\n".encode() + data_bytes(name) for name in FILES)
    newest = max(price.last_seen for price in on_demand_prices())
    return Snapshot(
        body=body,
        source="headway package: Karpenter price tables, Infracost golden files",
        licence="Apache-2.0; single facts named in their rows",
        fetched_at=newest,
    )


def snapshot_info() -> SnapshotInfo:
    """What is said of the snapshot wherever a price of it is shown."""
    snapshot = packaged_prices()
    digest = hashlib.sha256(snapshot.body).hexdigest()
    return SnapshotInfo(digest, snapshot.fetched_at, snapshot.source, snapshot.licence)
