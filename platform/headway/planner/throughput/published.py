"""PURE. Published rows as setups: what a row says, and stated assumptions where it is silent.

Assumed: eight devices a node; the network that clusters of a device usually have; sequence 2,048 and the
largest micro-batch that fits; attention with a score matrix in the BERT scripts of 2019 to 2023.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from headway.catalog.types import Accelerator, ThroughputRow
from headway.planner.throughput.fit import Observation
from headway.planner.throughput.loads import filled, load_of
from headway.planner.throughput.setups import Device, Layout, Recompute, Setup
from headway.planner.throughput.shapes import shape_of, with_attention

_NODE_DEVICES = 8
# Bytes per second of one node, one direction: DGX-1 4 x 100 Gb/s, A100 8 x 200, H100 8 x 400, B200 8 x 400.
_NODE_LINKS = {"v100": 50e9, "a100": 200e9, "h100": 400e9, "h200": 400e9, "b200": 400e9, "b300": 800e9}
_CARD_LINK = 12.5e9
_HOST_DEVICES = 4
_TORUS = {"tpu", "trainium"}
_SEQ_LEN = 2048
_TORUS_TOKENS = 8192.0
_FIT_SHARE = 0.85
# Global batches of NVIDIA's BERT pre-training (two phases), from the recipe's own settings.
_LAMB_BATCH = {128: 65536, 512: 32768}
_ADAM_BYTES, _LAMB_BYTES = 30.0, 48.0
_ACCUMULATED = 8


def device_of(accelerator: Accelerator) -> Device | None:
    """A device of the catalogue; None where its peak or its memory is not known."""
    peaks = {name: value for name, value in accelerator.peak_flops.items() if name != "int8"}
    memory, rate = accelerator.memory_bytes, accelerator.memory_bytes_per_second
    if not peaks or memory is None or rate is None:
        return None
    return Device(accelerator.key, peaks, float(accelerator.usable_memory_bytes or memory), rate)


def setup_of(row: ThroughputRow, accelerator: Accelerator) -> Setup | None:
    """A row's setup; None where the model or the device is not known."""
    device = device_of(accelerator)
    shape = shape_of(row.model, row.parameters, row.active_parameters)
    if device is None or shape is None:
        return None
    if shape.dropout:
        shape = with_attention(shape, fused=False)
    seq_len = row.seq_len or _SEQ_LEN
    setup = Setup(
        shape=shape,
        device=device,
        layout=_layout(row, accelerator, mixture=shape.choices > 0),
        precision=_precision(row, device),
        micro_batch=1.0,
        seq_len=seq_len,
        recompute=_recompute(row),
        adapters="lora" in row.task,
        optimizer_bytes=_LAMB_BYTES if "LAMB" in row.note else _ADAM_BYTES,
    )
    return _with_batches(row, setup)


def _with_batches(row: ThroughputRow, setup: Setup) -> Setup:
    replicas = setup.layout.replicas
    torus = setup.layout.sharding != "ddp" and row.accelerator.startswith("tpu")
    batch = float(row.global_batch or 0)
    if not batch and "LAMB" in row.note and row.year >= 2020:
        batch = float(_LAMB_BATCH.get(setup.seq_len, 0))
    micro = float(row.micro_batch or 0)
    if not micro and torus:
        micro = max(1.0, _TORUS_TOKENS / setup.seq_len)
    if not micro:
        micro = _largest(setup, batch / replicas if batch else 4096.0)
    if batch:
        return replace(setup, micro_batch=micro, micro_steps=max(1, round(batch / (replicas * micro))))
    many = setup.layout.pipeline > 1
    return replace(setup, micro_batch=micro, micro_steps=_ACCUMULATED * setup.layout.pipeline if many else 1)


def _largest(setup: Setup, most: float) -> float:
    """The largest power of two that fits."""
    size = 1.0
    while size * 2 <= most and filled(replace(setup, micro_batch=size * 2)) <= _FIT_SHARE:
        size *= 2
    return size


def _precision(row: ThroughputRow, device: Device) -> str:
    name = row.precision
    if name == "fp32 or tf32":
        return "tf32" if "tf32" in device.peak_flops else "fp32"
    if name == "fp8-rowwise":
        return "bf16"  # scales for every row cost about what narrow matrices save
    if name.startswith(("fp8", "mxfp8")):
        return "fp8"
    return name


def _recompute(row: ThroughputRow) -> Recompute:
    said = row.recompute
    if said == "full":
        return Recompute.FULL
    if said == "selective per op" or (said == "selective" and "torchtitan" in row.source):
        return Recompute.HALF
    return Recompute.ATTENTION if said == "selective" else Recompute.NONE


def _degree(row: ThroughputRow, name: str) -> int:
    found = re.search(rf"\b{name} (\d+)", row.parallelism)
    return int(found.group(1)) if found else 1


def _layout(row: ThroughputRow, accelerator: Accelerator, *, mixture: bool) -> Layout:
    family = accelerator.key.split("-", maxsplit=1)[0].rstrip("0123456789")
    device_link = accelerator.intra_node_bytes_per_second or _CARD_LINK
    torus = family in _TORUS
    node_link = next(
        (rate for key, rate in _NODE_LINKS.items() if accelerator.key.startswith(key)), _CARD_LINK
    )
    said = row.parallelism
    sharding = "ddp"
    if "GRAD_OP" in said:
        sharding = "grad-op"
    elif "ZeRO-1" in said or "Megatron" in row.source:
        sharding = "zero1"
    elif "FSDP" in said or torus:
        sharding = "fsdp"
    per_node = _NODE_DEVICES
    pods = re.search(r"over (\d+) pods", said)
    if torus:
        # A torus has one kind of link, however many chips there are; several of them are joined by a network.
        per_node = max(1, row.count // int(pods.group(1)) if pods else row.count)
        node_link = per_node / _HOST_DEVICES * _CARD_LINK
        sharding = "hsdp" if pods else sharding
    expert = _degree(row, "EP")
    if mixture and expert == 1:
        expert = min(row.count, _NODE_DEVICES)
    return Layout(
        devices=row.count,
        devices_per_node=per_node,
        device_link_bytes_per_second=device_link,
        node_link_bytes_per_second=node_link,
        sharding=sharding,
        tensor=_degree(row, "TP"),
        pipeline=_degree(row, "PP"),
        expert=expert,
        virtual=_degree(row, "VP"),
        overlapped="async" in said,
    )


def stack_of(row: ThroughputRow) -> str:
    """The software that a row was measured with: its source, and the kind of task."""
    return f"{row.source} {row.task.split(' ', maxsplit=1)[0]}"


def observation_of(row: ThroughputRow, accelerator: Accelerator) -> Observation | None:
    """A row as the fit takes it; None where model, device or throughput is not known."""
    setup = setup_of(row, accelerator)
    measured = None if setup is None else measured_tokens_per_second(row, setup, accelerator)
    if setup is None or measured is None:
        return None
    stack = stack_of(row)
    return Observation(load_of(setup), measured, stack, row.accelerator, row.model, row.micro_batch is None)


def observations(rows: Iterable[ThroughputRow], accelerators: Mapping[str, Accelerator]) -> list[Observation]:
    """All rows of which enough is known."""
    found = [
        observation_of(row, accelerators[row.accelerator]) for row in rows if row.accelerator in accelerators
    ]
    return [one for one in found if one is not None]


def measured_tokens_per_second(row: ThroughputRow, setup: Setup, accelerator: Accelerator) -> float | None:
    """A row's throughput per device; from its FLOPs or its utilisation where it does not say tokens."""
    if row.tokens_per_second:
        return row.tokens_per_second
    flops = row.model_flops_per_second
    if not flops and row.mfu:
        peak = setup.device.half_flops if "bf16" in accelerator.peak_flops else None
        flops = row.mfu * peak if peak else None
    if not flops:
        return None
    shape = setup.shape
    per_token = setup.model_flops_per_token
    if "full attention counted" in row.note and shape.causal:
        per_token += 6.0 * shape.layers * shape.hidden * setup.seq_len
    return flops / per_token
