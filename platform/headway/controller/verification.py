"""Proving a receipt from what is stored: lines, prices, and the bytes that the prices were read from."""

from __future__ import annotations

import hashlib

from headway.costing.verify import Check, verify
from headway.reports.receipt import Receipt
from headway.runs import bills
from headway.runs.store import Ledger
from headway.settings import Settings


def verify_receipt(settings: Settings, ledger: Ledger, receipt: Receipt) -> list[Check]:
    """Re-add the lines, price each charge again, and hash lines, prices and snapshots again."""
    with ledger.read() as connection:
        lines = bills.lines_of(connection, receipt.run.id)
        prices = bills.prices_of(connection, {line.price_id for line in lines})
        count, changed = bills.changed_lines(connection, receipt.run.id)
    totals = {total.currency: total.nano for total in receipt.totals}
    checks = verify(lines, prices, totals)
    if count:
        checks.append(Check(not changed, "verify.lines", {"count": count, "changed": len(changed)}))
    for sha in sorted({price.snapshot_sha for price in prices.values()}):
        path = settings.home / "snapshots" / f"{sha}.toml"
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        checks.append(Check(found == sha, "verify.snapshot", {"sha": sha[:12]}))
    return checks
