"""PURE, torch-free. What a traced training step holds in memory and moves, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

Rules = Literal["cpu", "cuda"]
Phase = Literal["forward", "loss", "backward", "optimizer"]
Category = Literal[
    "parameters",
    "gradients",
    "optimizer",
    "activations",
    "temporaries",
    "loss_head",
    "communication",
    "inputs",
]
# Where a peak can lie. Forward and backward have three places each: the first block, the last, and those
# between. With a model's depth the peak may move from one to another (activations grow, gradients too); the
# peak of each place is a line over the number of blocks.
Place = Literal[
    "forward_start",
    "forward",
    "forward_end",
    "loss",
    "backward_start",
    "backward",
    "backward_end",
    "optimizer",
]
PHASES: tuple[Phase, ...] = ("forward", "loss", "backward", "optimizer")
PLACES: tuple[Place, ...] = (
    "forward_start",
    "forward",
    "forward_end",
    "loss",
    "backward_start",
    "backward",
    "backward_end",
    "optimizer",
)
CATEGORIES: tuple[Category, ...] = (
    "parameters",
    "gradients",
    "optimizer",
    "activations",
    "temporaries",
    "loss_head",
    "communication",
    "inputs",
)


def phase_of(place: str) -> str:
    """The phase that a place belongs to."""
    return place.removesuffix("_end").removesuffix("_start")


@dataclass(frozen=True, slots=True)
class Movement:
    """One allocation (`bytes` > 0) or its end (`bytes` < 0) in the order of a step.

    `block` is the same for both; `stream` 0 is the computing one, the others are FSDP's.
    """

    block: int
    bytes: int
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """Operations and bytes read and written in one phase; `recompute_flops` is part of none of the others."""

    forward_flops: int = 0
    backward_flops: int = 0
    recompute_flops: int = 0
    moved_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StepPeak:
    """The peak of one training step on one device, in bytes.

    - `places`: for each place of the step the bytes by category at its worst moment;
    - `block_bytes`: kept by each block of the model from forward to backward, in the model's order;
    - `reserved_bytes`: what the caching allocator takes for it (CUDA rules only), `context_bytes` beside it
      for the CUDA context and libraries;
    - `work`: operations and bytes moved by the step;
    - `idle`: techniques of the recipe that found nothing to change;
    - `basis`: how the figures are known.
    """

    rules: Rules
    places: Mapping[str, Mapping[str, int]]
    block_bytes: tuple[int, ...] = ()
    reserved_bytes: int | None = None
    context_bytes: int = 0
    work: Work = field(default_factory=Work)
    idle: tuple[str, ...] = ()
    basis: str = "traced"

    @property
    def peak_place(self) -> str:
        """Where the peak lies; the first of equals."""
        return max(self.places, key=lambda name: sum(self.places[name].values()))

    @property
    def peak_phase(self) -> str:
        """The phase in which the peak lies."""
        return phase_of(self.peak_place)

    @property
    def peak_bytes(self) -> int:
        """Allocated at the worst moment."""
        return sum(self.by_category.values())

    @property
    def by_category(self) -> Mapping[str, int]:
        """What the peak consists of, adding to it."""
        return self.places[self.peak_place]

    @property
    def by_phase(self) -> dict[str, int]:
        """The peak within each phase."""
        found: dict[str, int] = {}
        for name, parts in self.places.items():
            phase = phase_of(name)
            found[phase] = max(found.get(phase, 0), sum(parts.values()))
        return found

    @property
    def total_bytes(self) -> int:
        """What the device must have: reserved and context, or allocated where nothing is reserved."""
        return (self.peak_bytes if self.reserved_bytes is None else self.reserved_bytes) + self.context_bytes

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "places": {name: dict(parts) for name, parts in self.places.items()}}


def step_peak_of(data: Mapping[str, Any]) -> StepPeak:
    """A step's peak from JSON.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the data is not one.
    """
    reserved = data["reserved_bytes"]
    return StepPeak(
        rules=cast("Rules", data["rules"]),
        places={
            str(place): {str(name): int(value) for name, value in parts.items()}
            for place, parts in data["places"].items()
        },
        block_bytes=tuple(int(value) for value in data["block_bytes"]),
        reserved_bytes=None if reserved is None else int(reserved),
        context_bytes=int(data["context_bytes"]),
        work=Work(**data["work"]),
        idle=tuple(str(name) for name in data["idle"]),
        basis=str(data["basis"]),
    )
