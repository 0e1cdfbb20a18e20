"""PURE. How a run's workers are cut into pods: as wide as a node holds, since GPUs of one pod share links."""

from __future__ import annotations

from dataclasses import dataclass

_SYSTEM_CORES = 1  # of a node with more than two: kubelet, CNI and device plugin need them
# Memory of a node that pods do not get: kubelet's reservation and the system's pods.
_USABLE_MEMORY_PERCENT = 85


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What one node of a pool has; `memory_bytes` None is unknown, `efa` counts its EFA devices."""

    cores: int
    gpus: int
    memory_bytes: int | None = None
    efa: int = 0

    @property
    def usable_cores(self) -> int:
        """Cores that pods may ask for."""
        return self.cores - _SYSTEM_CORES if self.cores > 2 else self.cores


@dataclass(frozen=True, slots=True)
class Need:
    """What a run asks for, by worker."""

    workers: int
    cpus_per_worker: int
    gpus_per_worker: int
    memory_per_worker_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """So many like pods, each with so many workers and what they need; `memory_bytes` None asks for none."""

    pods: int
    workers_per_pod: int
    cpus: int
    gpus: int
    memory_bytes: int | None
    efa: int = 0

    @property
    def is_single(self) -> bool:
        """Whether one pod is all: then it is Ray's head too, and no pod stands beside it."""
        return self.pods == 1


def shape_of(need: Need, node: NodeShape) -> Shape | None:
    """The fewest pods that hold all workers on nodes of this kind; None where a node holds not even one.

    >>> shape_of(Need(16, 4, 1), NodeShape(96, 8))
    Shape(pods=2, workers_per_pod=8, cpus=32, gpus=8, memory_bytes=None, efa=0)
    """
    widest = _widest(need, node)
    if widest == 0:
        return None
    pods = -(-need.workers // min(widest, need.workers))
    each = -(-need.workers // pods)
    # Pods are alike, so an uneven cut would hold GPUs that nobody uses: a few more, smaller pods do not.
    even = next(count for count in range(min(widest, need.workers), 0, -1) if need.workers % count == 0)
    if 2 * even >= each:
        pods, each = need.workers // even, even
    return Shape(
        pods=pods,
        workers_per_pod=each,
        cpus=each * need.cpus_per_worker,
        gpus=each * need.gpus_per_worker,
        memory_bytes=_memory(need, node, each, widest),
        efa=node.efa if pods > 1 and each * need.gpus_per_worker == node.gpus else 0,
    )


def _widest(need: Need, node: NodeShape) -> int:
    """How many workers one node holds."""
    limits = [node.usable_cores // need.cpus_per_worker]
    if need.gpus_per_worker:
        limits.append(node.gpus // need.gpus_per_worker)
    if need.memory_per_worker_bytes and node.memory_bytes:
        limits.append(node.memory_bytes * _USABLE_MEMORY_PERCENT // 100 // need.memory_per_worker_bytes)
    return min(limits)


def _memory(need: Need, node: NodeShape, each: int, widest: int) -> int | None:
    """As asked for; else the pod's part of its node."""
    if need.memory_per_worker_bytes:
        return each * need.memory_per_worker_bytes
    if node.memory_bytes is None:
        return None
    return node.memory_bytes * _USABLE_MEMORY_PERCENT // 100 * each // widest
