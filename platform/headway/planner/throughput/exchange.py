"""PURE. Bytes that devices exchange in a step, as seconds at the nominal rate of the link in question.

- Over rings, (n−1)/n of the bytes to gather or to reduce. Full shards gather weights for each pass and
  scatter gradients, every micro-step; data parallelism reduces gradients once a step.
- A ring has as many hops between machines as there are machines; each collective waits for all of them.
- Tensor parallelism gathers and scatters activations in each block; experts get their tokens and send them
  back.
"""

from __future__ import annotations

from headway.planner.throughput.setups import Layout, Setup, element_bytes

_HALF = 2.0
_BUCKET_BYTES = 25 * 2**20


def _link(layout: Layout, stride: int, group: float) -> tuple[float, float]:
    """The rate of a ring over `group` ranks that are `stride` devices apart, and machines that it crosses."""
    inside = max(1.0, layout.devices_per_node / stride)
    if group <= inside:
        return layout.device_link_bytes_per_second, 0.0
    # Rings of different groups cross between the same machines at the same time and share what they have.
    share = layout.node_link_bytes_per_second * inside / layout.devices_per_node
    return min(layout.device_link_bytes_per_second, share), max(2.0, group / inside)


def data_exchange(setup: Setup) -> tuple[float, float, float, float]:
    """Of a micro-step: seconds, hops; of a step: seconds, hops."""
    shape, layout = setup.shape, setup.layout
    replicas = layout.replicas
    if replicas <= 1:
        return 0.0, 0.0, 0.0, 0.0
    element = element_bytes(setup.precision)
    weights = shape.parameters / (layout.tensor * layout.pipeline) * element
    gradients = 0.01 * weights if setup.adapters else weights
    if shape.choices and layout.expert > 1:
        # Experts stay where they are: only what is not an expert is shared by all replicas.
        weights, gradients = weights / layout.expert, gradients / layout.expert
    link, nodes = _link(layout, layout.tensor, replicas)
    part = (replicas - 1) / replicas
    layers = shape.layers / layout.pipeline
    if layout.sharding == "fsdp":
        return part * (2 * weights + gradients) / link, 3 * layers * nodes, 0.0, 0.0
    if layout.sharding == "grad-op":
        return part * (weights + gradients) / link, 2 * layers * nodes, 0.0, 0.0
    if layout.sharding == "hsdp":
        inside = min(replicas, layout.devices_per_node)
        near = (inside - 1) / inside * (2 * weights + gradients) / layout.device_link_bytes_per_second
        across = 2 * part * gradients / (inside * link) if nodes else 0.0
        return near, 0.0, across, 2 * layers * nodes
    moved = gradients + (weights if layout.sharding == "zero1" else gradients)
    return 0.0, 0.0, part * moved / link, 2 * max(1.0, gradients / _BUCKET_BYTES) * nodes


def block_exchange(setup: Setup, again: float) -> float:
    """Exchange inside blocks, of tensor and expert parallelism: activations, every micro-step."""
    shape, layout = setup.shape, setup.layout
    tokens = setup.micro_batch * setup.seq_len
    layers = shape.layers / layout.pipeline
    total = 0.0
    if layout.tensor > 1:
        link, _ = _link(layout, 1, layout.tensor)
        part = (layout.tensor - 1) / layout.tensor
        # Two pairs of gather and scatter forward, two backward.
        hidden = 0.5 if layout.overlapped else 1.0
        total += hidden * (8.0 + 4.0 * again) * part * tokens * shape.hidden * _HALF * layers / link
    if layout.expert > 1 and shape.choices:
        link, nodes = _link(layout, 1, layout.expert)
        part = (layout.expert - 1) / layout.expert
        # Between machines a token is sent once to each, however many of its experts are there.
        copies = min(shape.choices, nodes or layout.expert)
        sent = tokens / layout.tensor * shape.hidden * _HALF * copies
        total += (4.0 + 2.0 * again) * part * sent * layers / link
    return total
