"""PURE. What a step's time follows from: a model, devices and their links, a layout, a batch.

Counts are whole numbers held as such; rates are per second, sizes in bytes, one direction of a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of a transformer that its time depends on.

    `matmul_parameters` are the weights that a token meets in matrices, the loss head included and position
    and token tables left out; of experts only those chosen. `parameters` are all that exist. `choices` is how
    many experts a token goes to, 0 for a dense model. `fused_attention` keeps no score matrix;
    `dropout` that elementwise work is not fused and has dropout in it.
    """

    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocab: int
    parameters: float
    matmul_parameters: float
    gated: bool = False
    causal: bool = True
    choices: int = 0
    fused_attention: bool = True
    dropout: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """One device as software sees it; `peak_flops` maps a precision to dense FLOP/s."""

    key: str
    peak_flops: dict[str, float]
    memory_bytes: float
    memory_bytes_per_second: float

    @property
    def half_flops(self) -> float:
        """The 16-bit peak, or the nearest that the device has: it tells the device's generation."""
        for name in ("bf16", "fp16", "tf32", "fp32"):
            if self.peak_flops.get(name):
                return self.peak_flops[name]
        return max(self.peak_flops.values())


class Recompute(StrEnum):
    """What the backward pass computes again: nothing, attention's core, half of the matrices, all blocks."""

    NONE = "none"
    ATTENTION = "attention"
    HALF = "half"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model is spread over devices.

    `sharding` is `ddp`, `zero1`, `grad-op` (weights gathered once a pass and kept), `fsdp` or `hsdp` (sharded
    within a node). `tensor`, `pipeline` and `expert` are degrees; `virtual` is stages a device holds;
    `overlapped` tensor parallelism sends while it multiplies.
    """

    devices: int
    devices_per_node: int
    device_link_bytes_per_second: float
    node_link_bytes_per_second: float
    sharding: str = "ddp"
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    virtual: int = 1
    overlapped: bool = False

    @property
    def replicas(self) -> float:
        """Data-parallel ranks."""
        return max(1.0, self.devices / (self.tensor * self.pipeline))

    @property
    def nodes(self) -> int:
        """Machines, the last one perhaps not full."""
        return max(1, -(-self.devices // self.devices_per_node))


@dataclass(frozen=True, slots=True)
class Setup:
    """One training step.

    `micro_batch` samples of `seq_len` tokens for each replica and micro-step, `micro_steps` of them before
    the optimizer. `adapters`: only they are trained. `optimizer_bytes` are moved for a weight by an update.
    """

    shape: Shape
    device: Device
    layout: Layout
    precision: str
    micro_batch: float
    seq_len: int
    micro_steps: int = 1
    recompute: Recompute = Recompute.NONE
    adapters: bool = False
    optimizer_bytes: float = 30.0

    @property
    def tokens_per_step(self) -> float:
        """Tokens of the whole job in one optimizer step."""
        return self.micro_batch * self.seq_len * self.micro_steps * self.layout.replicas

    @property
    def model_flops_per_token(self) -> float:
        """FLOPs that training needs, nothing computed again; causal attention counted once where it is."""
        shape = self.shape
        attention = 12.0 * shape.layers * shape.hidden * self.seq_len / (2 if shape.causal else 1)
        return (4.0 if self.adapters else 6.0) * shape.matmul_parameters + attention


def element_bytes(precision: str) -> float:
    """Bytes of a number as it is kept and sent: narrow formats exist in matrices only."""
    return 4.0 if precision in {"fp32", "tf32"} else 2.0
