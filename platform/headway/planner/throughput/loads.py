"""PURE. What one step asks of a device and its links, at nominal rates: everything that needs no fitting.

- Matrices: 2 FLOPs a weight and token forward, 4 backward (2 where only adapters are trained); recompute
  repeats a forward pass of the blocks but for their last matrix, and not of the loss head.
- Attention without a score matrix: 4·S·h a token and layer forward, half of it when causal; its backward pass
  repeats the scores: 10·S·h (Dao 2307.08691). With a score matrix 4 and 8, and the matrix passes through
  memory again and again.
- Elementwise work and the matrices' own inputs and outputs: bytes in proportion to a block's width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.planner.throughput.exchange import block_exchange, data_exchange
from headway.planner.throughput.setups import Recompute, Setup, element_bytes

# The A100's 16-bit peak: the point at which fitted shares are stated.
REFERENCE_FLOPS = 312e12
# A score matrix is written and read, for softmax, mask and dropout, forward and backward: assumed.
_SCORE_PASSES = 12.0
# Logits in 16 bits and fp32, with both gradients, each written and read.
_LOGIT_BYTES = 24.0
# Weights are read three times by a micro-step; gradients are added to what is there.
_WEIGHT_PASSES = 5.0
_SAVED_WIDTHS = 17.0
# Of the weights that a token meets, those in experts; their matrices are slow as they are narrow.
_EXPERT_SHARE, _EXPERT_WIDTH = 0.6, 4096.0


@dataclass(frozen=True, slots=True)
class Load:
    """Seconds at nominal rates, of one micro-step where not said otherwise.

    `generation` is the 16-bit peak over the reference's. `fp8` says that `matmul_seconds` are at the 8-bit
    peak; `head_seconds` never are. `width_seconds` are for one byte per unit of width. `weight_seconds`
    are for reading weights, which no batch makes longer. `gathered_seconds`, `gathered_hops` are exchange of
    each micro-step; `reduced_*` of each step. `waits` are micro-steps that a pipeline fills and drains in.
    """

    tokens_per_step: float
    devices: int
    micro_steps: int
    generation: float
    low_precision: bool
    matmul_seconds: float
    head_seconds: float
    expert_share: float
    attention_seconds: float
    width_seconds: float
    eager: bool
    traffic_seconds: float
    weight_seconds: float
    blocks: float
    tokens: float
    gathered_seconds: float
    gathered_hops: float
    reduced_seconds: float
    reduced_hops: float
    block_exchange_seconds: float
    update_seconds: float
    waits: float


def peak_flops(setup: Setup) -> tuple[float, bool]:
    """The peak of the precision in use, and whether it is an 8-bit (or narrower) one."""
    peaks, name = setup.device.peak_flops, setup.precision
    if name in {"fp8", "nvfp4"}:
        found = peaks.get("fp8")
        return (found, True) if found else (setup.device.half_flops, False)
    if name in {"bf16", "fp16"}:
        return setup.device.half_flops, False
    return peaks.get(name) or peaks.get("fp32") or setup.device.half_flops / 16, False


def _repeats(recompute: Recompute) -> tuple[float, float]:
    """Forward passes computed again: of the matrices, of attention."""
    return {
        Recompute.NONE: (0.0, 0.0),
        Recompute.ATTENTION: (0.0, 1.0),
        Recompute.HALF: (0.5, 0.0),
        Recompute.FULL: (1.0, 1.0),
    }[recompute]


def _last_share(setup: Setup, head: float) -> float:
    """The part of a block's matrices that recompute leaves out: nothing needs the last one's result again."""
    shape = setup.shape
    last = float(shape.layers * shape.hidden * shape.intermediate * max(1, shape.choices))
    return min(1 / 3, last / (shape.matmul_parameters - head))


def load_of(setup: Setup) -> Load:
    """The load of a setup."""
    shape, layout, device = setup.shape, setup.layout, setup.device
    split = layout.tensor * layout.pipeline
    tokens = setup.micro_batch * setup.seq_len
    peak, low = peak_flops(setup)
    element = element_bytes(setup.precision)
    again, attention_again = _repeats(setup.recompute)
    head = min(float(shape.vocab * shape.hidden), 0.5 * shape.matmul_parameters)
    passes = (4.0 if setup.adapters else 6.0) + 2.0 * again * (1.0 - _last_share(setup, head))
    head_peak = device.half_flops if low else peak
    scores = 4.0 * setup.seq_len * shape.hidden * shape.layers / (2 if shape.causal else 1)
    core = (1.0 + attention_again + (2.5 if shape.fused_attention else 2.0)) * scores
    width = shape.layers * (0.5 * shape.hidden + 0.125 * shape.intermediate * max(1, shape.choices))
    score_bytes = 0.0
    if not shape.fused_attention:
        score_bytes = shape.layers * shape.heads * setup.seq_len * element * _SCORE_PASSES
    local = shape.parameters / (split * layout.expert)
    per_token = (score_bytes + shape.vocab * _LOGIT_BYTES) / split
    memory = device.memory_bytes_per_second
    gathered, gathered_hops, reduced, reduced_hops = data_exchange(setup)
    return Load(
        tokens_per_step=setup.tokens_per_step,
        devices=layout.devices,
        micro_steps=setup.micro_steps,
        generation=device.half_flops / REFERENCE_FLOPS,
        low_precision=low,
        matmul_seconds=passes * (shape.matmul_parameters - head) * tokens / (split * peak),
        head_seconds=(4.0 if setup.adapters else 6.0) * head * tokens / (split * head_peak),
        expert_share=_EXPERT_SHARE * math.sqrt(_EXPERT_WIDTH / shape.intermediate) if shape.choices else 0.0,
        attention_seconds=core * tokens / (split * device.half_flops),
        width_seconds=width * (element / 2) * (1 + again / 3) * tokens / (split * memory),
        eager=shape.dropout,
        traffic_seconds=tokens * per_token / memory,
        weight_seconds=local * element * _WEIGHT_PASSES / memory,
        blocks=shape.layers / layout.pipeline * (1 + again / 3),
        tokens=tokens / layout.tensor,
        gathered_seconds=gathered,
        gathered_hops=gathered_hops,
        reduced_seconds=reduced,
        reduced_hops=reduced_hops,
        block_exchange_seconds=block_exchange(setup, again),
        update_seconds=setup.optimizer_bytes * _owned(setup) / memory,
        waits=(layout.pipeline - 1) / max(1, layout.virtual),
    )


def resized(load: Load, factor: float, micro_steps: int) -> Load:
    """The load with micro-batches so many times larger and so many of them: the same as `load_of`, sooner."""
    return Load(
        tokens_per_step=load.tokens_per_step * factor * micro_steps / load.micro_steps,
        devices=load.devices,
        micro_steps=micro_steps,
        generation=load.generation,
        low_precision=load.low_precision,
        matmul_seconds=load.matmul_seconds * factor,
        head_seconds=load.head_seconds * factor,
        expert_share=load.expert_share,
        attention_seconds=load.attention_seconds * factor,
        width_seconds=load.width_seconds * factor,
        eager=load.eager,
        traffic_seconds=load.traffic_seconds * factor,
        weight_seconds=load.weight_seconds,
        blocks=load.blocks,
        tokens=load.tokens * factor,
        gathered_seconds=load.gathered_seconds,
        gathered_hops=load.gathered_hops,
        reduced_seconds=load.reduced_seconds,
        reduced_hops=load.reduced_hops,
        block_exchange_seconds=load.block_exchange_seconds * factor,
        update_seconds=load.update_seconds,
        waits=load.waits,
    )


def _owned(setup: Setup) -> float:
    """Weights that one device updates."""
    layout = setup.layout
    local = setup.shape.parameters / (layout.tensor * layout.pipeline)
    if setup.adapters:
        return 0.01 * local
    if layout.sharding == "ddp":
        return local / layout.expert
    shards = min(layout.replicas, layout.devices_per_node) if layout.sharding == "hsdp" else layout.replicas
    return local / max(1.0, shards)


def filled(setup: Setup) -> float:
    """Share of the device's memory that states, saved activations, one block and the logits take."""
    shape, layout = setup.shape, setup.layout
    split = layout.tensor * layout.pipeline
    tokens = setup.micro_batch * setup.seq_len
    local = shape.parameters / (split * layout.expert)
    states = 16.0 * _owned(setup) + (0.0 if layout.sharding in {"fsdp", "hsdp"} else 2.0 * local)
    width = 0.5 * shape.hidden + 0.125 * shape.intermediate
    block = 2.0 * _SAVED_WIDTHS * width
    saved = (
        2.0 * shape.hidden * shape.layers + block
        if setup.recompute is Recompute.FULL
        else block * shape.layers
    )
    logits = 10.0 * shape.vocab
    gathered = 4.0 * local / shape.layers if layout.sharding in {"fsdp", "hsdp"} else 0.0
    return (states + gathered + tokens * (saved + logits) / split) / setup.device.memory_bytes
