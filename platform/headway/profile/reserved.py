"""PURE. From a traced step to what a GPU must have: the allocator's history, context, libraries' buffers."""

from __future__ import annotations

from dataclasses import dataclass

from headway.profile.allocator import MIB, AllocatorSettings, Reserved, simulate
from headway.profile.step_types import Movement

STEPS = 3


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a process takes beside tensors; one set for all devices, in bytes.

    - `context_bytes`: the CUDA context with its loaded kernels, outside of the allocator (assumed, within the
      0.4 to 1.0 GiB that users of PyTorch on CUDA 11 and 12 report);
    - `workspace_bytes`: cuBLAS, from the allocator, for each stream that multiplies (PyTorch's default
      `CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8`);
    - `exchange_bytes`: NCCL's buffers, outside of the allocator, where there are several workers (assumed).
    """

    context_bytes: int = 640 * MIB
    workspace_bytes: int = 2 * 4 * MIB + 8 * 16 * 1024
    exchange_bytes: int = 256 * MIB

    def outside_bytes(self, world_size: int) -> int:
        """What lies outside of the allocator."""
        return self.context_bytes + (self.exchange_bytes if world_size > 1 else 0)


OVERHEAD = Overhead()


@dataclass(frozen=True, slots=True)
class History:
    """A run's first steps, in the order of the allocator's work.

    - `resident`: what is there before the first step; `states`: what the first optimizer step adds for good;
    - `step`: one step; `update`: the position in it where the optimizer's step begins.
    """

    resident: tuple[Movement, ...]
    states: tuple[Movement, ...]
    step: tuple[Movement, ...]
    update: int


def movements(history: History, steps: int = STEPS) -> list[Movement]:
    """The first `steps` steps as one sequence, ids made unique."""
    lasting = (*history.resident, *history.states)
    fixed = {move.block for move in lasting}
    span = 1 + max((move.block for move in (*lasting, *history.step)), default=0)
    found = list(history.resident)
    for number in range(steps):
        for position, move in enumerate(history.step):
            if number == 0 and position == history.update:
                found.extend(history.states)
            block = move.block if move.block in fixed else move.block + number * span
            found.append(Movement(block, move.bytes, move.stream))
    return found


def reserve(
    history: History,
    settings: AllocatorSettings,
    *,
    capacity_bytes: int | None = None,
    overhead: Overhead = OVERHEAD,
) -> Reserved:
    """What the allocator reserves over the first steps.

    Args:
        history: of the run.
        settings: of the allocator.
        capacity_bytes: what it may reserve at most.
        overhead: cuBLAS's workspace counts here.
    """
    workspace = Movement(-1, overhead.workspace_bytes)
    return simulate([workspace, *movements(history)], settings, capacity_bytes)
