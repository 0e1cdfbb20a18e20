"""Ask for the micro-batch of a worker, in a child process in the job's directory. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.errors import CapacityError
from headway.profile.asking import ask
from headway.profile.traced_types import TraceRequest
from headway.units import format_bytes

TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class ChosenBatch:
    """A micro-batch, its predicted peak, what does not grow with it, and what there is for it; bytes."""

    micro_batch: int
    predicted_bytes: int
    fixed_bytes: int
    capacity_bytes: int


def choose_batch(
    request: TraceRequest, *, share: int, capacity_bytes: int, margin: float, folder: Path
) -> ChosenBatch:
    """The fewest equal parts of a worker's share of a step that are predicted to fit.

    Args:
        request: the model and the recipe, with its sharding and number of workers.
        share: samples of a worker in a step.
        capacity_bytes: for what the step allocates; `margin` (a share of the prediction) stays free.
        margin: see `capacity_bytes`.
        folder: the job's directory.

    Raises:
        CapacityError: not even one sample fits.
        UserError: the model cannot be traced.
    """
    answer = ask(
        "headway.profile.batch_child",
        {"trace": request.to_data(), "share": share, "capacity_bytes": int(capacity_bytes / (1 + margin))},
        name=request.name,
        folder=folder,
        timeout_seconds=TIMEOUT_SECONDS,
    )
    if not answer["micro_batch"]:
        needed = int(answer["one_sample_bytes"])
        raise CapacityError(
            "profile.one_sample_too_large",
            needed=format_bytes(needed),
            capacity=format_bytes(capacity_bytes),
        )
    return ChosenBatch(
        micro_batch=int(answer["micro_batch"]),
        predicted_bytes=int(answer["predicted_bytes"]),
        fixed_bytes=int(answer["fixed_bytes"]),
        capacity_bytes=capacity_bytes,
    )
