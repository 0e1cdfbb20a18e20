"""The micro-batch of a running job: agreed by all workers, checked on the first step, corrected once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist


@dataclass(frozen=True, slots=True)
class Room:
    """What was predicted for the chosen micro-batch on a device, and what the device may take; bytes.

    `fixed_bytes` do not grow with the micro-batch.
    """

    predicted_bytes: int
    fixed_bytes: int
    capacity_bytes: int


@dataclass(frozen=True, slots=True)
class FirstStep:
    """What the first step took on the worker that took most, and the micro-batch before and after."""

    measured_bytes: int
    predicted_bytes: int
    before: int
    after: int


def corrected(micro_batch: int, measured_bytes: int, room: Room) -> int:
    """PURE. The micro-batch to go on with: the same where it fitted, else what fits by its own measure.

    It never grows: a larger batch than the plan's was not predicted to be faster.
    """
    if measured_bytes <= room.capacity_bytes:
        return micro_batch
    each = max(1.0, (measured_bytes - room.fixed_bytes) / micro_batch)
    return max(1, min(micro_batch - 1, int((room.capacity_bytes - room.fixed_bytes) / each)))


def agreed(value: int, device: torch.device, *, least: bool) -> int:
    """The least (or the most) of all workers' values; the value itself without a process group."""
    if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
        return value
    found = torch.tensor([value], dtype=torch.int64, device=device)
    dist.all_reduce(found, op=dist.ReduceOp.MIN if least else dist.ReduceOp.MAX)
    return int(found.item())


class Gauge:
    """What tensors take at the peak from when the gauge is made, just before a step.

    On a processor that is what the process grows by, and `resident_bytes` of tensors that are there already:
    libraries and what earlier work left with the allocator do not count.
    """

    def __init__(self, device: torch.device, resident_bytes: int = 0) -> None:
        self._device = device
        self._start = 0
        self._resident_bytes = resident_bytes
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        else:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
            self._start = _status("VmRSS")

    def peak_bytes(self) -> int:
        """Reserved by PyTorch on CUDA; on a processor growth and what was resident."""
        if self._device.type == "cuda":
            return int(torch.cuda.max_memory_reserved(self._device))
        return max(0, _status("VmHWM") - self._start) + self._resident_bytes


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) * 1024


def check_first_step(micro_batch: int, gauge: Gauge, room: Room, device: torch.device) -> FirstStep:
    """Compare the worst worker's first step with the room there is; collective over the workers."""
    measured = agreed(gauge.peak_bytes(), device, least=False)
    after = agreed(corrected(micro_batch, measured, room), device, least=True)
    return FirstStep(measured, room.predicted_bytes, micro_batch, after)
