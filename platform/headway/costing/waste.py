"""PURE. Which part of an attempt's time was useful and which was lost.

Classes (they sum to the attempt exactly):
- `useful`: training and evaluation that the run kept;
- `replay`: training beyond the last checkpoint that survived, to be done again;
- `restart`: provisioning, boot and restore;
- `checkpoint`: time spent writing checkpoints;
- `idle`: machines held while nothing of the run trained;
- `failed`: an attempt of which nothing was kept.

With x executed and r retained steps, an attempt's training time T splits into T·r/x useful and T·(x−r)/x
replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from headway.costing.split import split
from headway.costing.usage import PhaseSpan


class Waste(StrEnum):
    """What a cost line's time was spent on."""

    USEFUL = "useful"
    REPLAY = "replay"
    RESTART = "restart"
    CHECKPOINT = "checkpoint"
    FAILED = "failed"
    IDLE = "idle"


_CLASS_OF_PHASE = {
    "provision": Waste.RESTART,
    "boot": Waste.RESTART,
    "restore": Waste.RESTART,
    "checkpoint": Waste.CHECKPOINT,
    "idle": Waste.IDLE,
    "eval": Waste.USEFUL,
}


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """How an attempt ended, as far as waste is concerned.

    `executed_steps` counts this attempt's steps, `retained_steps` those of them that a later attempt (or
    the finished run) builds on. A script that reports no steps has None for both: it is kept whole if it
    succeeded and lost whole if not.
    """

    succeeded: bool
    executed_steps: int | None
    retained_steps: int | None


def classify(phases: Sequence[PhaseSpan], start: int, stop: int, outcome: AttemptOutcome) -> dict[Waste, int]:
    """Microseconds of an attempt by waste class; the values sum to `stop - start` exactly.

    A script that reports no training phase is not looked into: all its time after provisioning counts as
    training. Otherwise time that no phase covers is idle. Time that two phases claim, as after a clock was
    set back, belongs to the one that began first.
    """
    stop = max(start, stop)
    parts = dict.fromkeys(Waste, 0)
    reports_training = any(phase.kind == "train" for phase in phases)
    trained = 0
    covered, reached = 0, start
    for phase in sorted(phases, key=lambda phase: phase.start):
        length = max(0, min(phase.stop, stop) - max(phase.start, reached))
        covered += length
        reached = max(reached, min(phase.stop, stop))
        waste = _CLASS_OF_PHASE.get(phase.kind)
        if waste is None or (phase.kind == "boot" and not reports_training):
            trained += length
        else:
            parts[waste] += length
    uncovered = (stop - start) - covered
    if reports_training:
        parts[Waste.IDLE] += uncovered
    else:
        trained += uncovered
    kept = outcome.succeeded or bool(outcome.retained_steps)
    if not kept:
        return {**dict.fromkeys(Waste, 0), Waste.FAILED: stop - start}
    executed, retained = outcome.executed_steps, outcome.retained_steps
    if executed and retained is not None and not outcome.succeeded:
        halves = split(
            trained, {Waste.USEFUL: min(retained, executed), Waste.REPLAY: max(0, executed - retained)}
        )
        parts[Waste.USEFUL] += halves[Waste.USEFUL]
        parts[Waste.REPLAY] += halves[Waste.REPLAY]
    else:
        parts[Waste.USEFUL] += trained
    return parts


@dataclass(frozen=True, slots=True)
class AttemptSteps:
    """Where an attempt began (the step it restored, or 0), how far it came, and its last checkpoint.

    `last` None means that it reported no steps.
    """

    start: int
    last: int | None
    checkpoint: int | None
    succeeded: bool


def outcomes(attempts: Sequence[AttemptSteps]) -> list[AttemptOutcome]:
    """What the run kept of each of its attempts, in order.

    Of an attempt that was followed by others, what lies before the earliest step from which any of those
    began is kept; of the last one, what its checkpoint holds, or all when it succeeded.
    """
    results: list[AttemptOutcome] = []
    for number, attempt in enumerate(attempts):
        later = [item.start for item in attempts[number + 1 :] if item.last is not None]
        if attempt.last is None:
            results.append(AttemptOutcome(attempt.succeeded, None, None))
            continue
        if later:
            kept_until = min(later)
        elif attempt.succeeded:
            kept_until = attempt.last
        else:
            kept_until = attempt.checkpoint if attempt.checkpoint is not None else attempt.start
        executed = max(0, attempt.last - attempt.start)
        retained = max(0, min(attempt.last, kept_until) - attempt.start)
        results.append(AttemptOutcome(attempt.succeeded, executed, retained))
    return results
