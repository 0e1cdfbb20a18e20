"""The same run elsewhere: its recorded work, planned on every offering, beside what it really took.

The work is what the run kept (samples and tokens from the ledger); what a sample needs comes from the model
that the job file names. Without a model nothing can be said of another machine, and nothing is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import cast

from sqlalchemy import Connection

from headway.controller.efficiencies import with_efficiencies
from headway.controller.figures import figures_of
from headway.controller.offerings import offerings_of
from headway.controller.pricing import market_of, sites_of
from headway.controller.receipts import receipt_of, retained_progress
from headway.controller.workload import work_of
from headway.errors import DataError, UserError
from headway.planner.search import plan
from headway.planner.types import Limits, PlanResult, Work
from headway.reports.receipt import Receipt
from headway.settings import Settings
from headway.spec.job import JobSpec

NO_LIMITS = Limits(1, None, None, None, None, ("any",), "public", "bf16")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run as it was, and as it would be elsewhere."""

    receipt: Receipt
    work: Work
    seconds: float
    result: PlanResult


def compare_run(connection: Connection, settings: Settings, run_id: str) -> Comparison:
    """Compare one run.

    Raises:
        NotFoundError: there is no such run.
        UserError: its job file names no model.
        DataError: it has kept no work yet that could be done elsewhere.
    """
    figures = figures_of(settings)
    receipt = receipt_of(connection, run_id, figures)
    run = receipt.run
    job = cast("dict[str, dict[str, object]]", run.spec["job"])
    if "model" not in job.get("workload", {}):
        raise UserError("compare.no_model", run=run.id)
    spec = JobSpec.model_validate(job)
    planned = work_of(spec)
    kept = retained_progress(connection, run.id, run.state)
    if kept is None or not kept.samples:
        raise DataError("compare.nothing_kept", run=run.id)
    profile = planned.profile
    if kept.tokens:
        profile = replace(profile, seq_len=max(1, round(kept.tokens / kept.samples)))
    batch = max(1, round(kept.samples / kept.step)) if kept.step else planned.global_batch
    work = Work(profile, kept.samples, batch)
    offerings = with_efficiencies(
        offerings_of(sites_of(settings), figures, time.time_ns() // 1000, market_of(settings)),
        work,
    )
    seconds = sum(
        (attempt.ended - attempt.started) / 1e6 for attempt in receipt.attempts if attempt.ended is not None
    )
    precision = profile.precision
    return Comparison(receipt, work, seconds, plan(work, offerings, replace(NO_LIMITS, precision=precision)))
