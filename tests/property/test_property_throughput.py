"""Throughput over wide ranges: finite, positive, and never better for having less or having more to do."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.catalog.throughput import throughput_fit
from headway.planner.throughput.loads import load_of, resized
from headway.planner.throughput.model import Correction, Measured, calibrated, model_of, predicted
from headway.planner.throughput.setups import Device, Layout, Recompute, Setup, Shape
from headway.planner.throughput.step import step_seconds

EXAMPLES = settings(max_examples=150, deadline=None, derandomize=True)
MODEL = model_of(throughput_fit())
SLACK = 1 + 1e-9


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    layers, hidden = draw(st.integers(1, 130)), 64 * draw(st.integers(1, 400))
    vocab = draw(st.integers(2, 300_000))
    matmul = 12.0 * layers * hidden**2 + vocab * hidden
    choices = draw(st.sampled_from([0, 0, 2, 8]))
    shape = Shape(
        layers,
        hidden,
        max(1, hidden // 64),
        draw(st.sampled_from([2, 4])) * hidden,
        vocab,
        matmul * (draw(st.floats(1, 20)) if choices else 1.0),
        matmul,
        causal=draw(st.booleans()),
        choices=choices,
        fused_attention=draw(st.booleans()),
        dropout=draw(st.booleans()),
    )
    half = draw(st.floats(1e11, 1e16))
    peaks = {"bf16": half, "fp16": half, "fp32": half / 16}
    if draw(st.booleans()):
        peaks["fp8"] = 2 * half
    tensor, pipeline, expert = (draw(st.sampled_from([1, 1, 2, 8])) for _ in range(3))
    layout = Layout(
        devices=tensor * pipeline * draw(st.integers(1, 600)),
        devices_per_node=draw(st.sampled_from([1, 4, 8, 72])),
        device_link_bytes_per_second=draw(st.floats(1e9, 2e12)),
        node_link_bytes_per_second=draw(st.floats(1e8, 2e12)),
        sharding=draw(st.sampled_from(["ddp", "zero1", "grad-op", "fsdp", "hsdp"])),
        tensor=tensor,
        pipeline=pipeline,
        expert=expert,
        virtual=draw(st.integers(1, 4)),
        overlapped=draw(st.booleans()),
    )
    return Setup(
        shape,
        Device("any", peaks, 8e10, draw(st.floats(1e10, 2e13))),
        layout,
        precision=draw(st.sampled_from(["bf16", "fp16", "fp32", "tf32", "fp8"])),
        micro_batch=draw(st.integers(1, 256)),
        seq_len=draw(st.sampled_from([16, 128, 2048, 65536])),
        micro_steps=draw(st.integers(1, 500)),
        recompute=draw(st.sampled_from(list(Recompute))),
        adapters=draw(st.booleans()),
    )


def seconds(setup: Setup) -> float:
    return step_seconds(load_of(setup), MODEL.constants)


def rate(setup: Setup) -> float:
    return setup.tokens_per_step / seconds(setup)


@EXAMPLES
@given(setups())
def test_predictions_are_finite_and_positive(setup: Setup) -> None:
    found = predicted(setup, MODEL, MODEL.correction("own", setup.device.key))
    values = (found.low, found.tokens_per_second, found.high, found.step_seconds)
    assert all(math.isfinite(value) and value > 0 for value in values)
    assert found.low < found.tokens_per_second < found.high


@EXAMPLES
@given(setups(), st.floats(1, 10))
def test_more_to_compute_is_never_faster(setup: Setup, factor: float) -> None:
    shape = setup.shape
    more = shape.matmul_parameters * factor
    larger = replace(shape, matmul_parameters=more, parameters=shape.parameters + more)
    assert seconds(replace(setup, shape=larger)) * SLACK >= seconds(setup)
    assert seconds(replace(setup, recompute=Recompute.FULL)) * SLACK >= seconds(
        replace(setup, recompute=Recompute.NONE)
    )


@EXAMPLES
@given(setups(), st.floats(1, 100), st.floats(1, 100))
def test_a_faster_device_is_never_slower(setup: Setup, compute: float, memory: float) -> None:
    device = setup.device
    peaks = {name: value * compute for name, value in device.peak_flops.items()}
    faster = replace(
        device, peak_flops=peaks, memory_bytes_per_second=device.memory_bytes_per_second * memory
    )
    assert seconds(replace(setup, device=faster)) <= seconds(setup) * SLACK


@EXAMPLES
@given(setups(), st.floats(1, 100), st.floats(1, 100))
def test_more_network_is_never_slower(setup: Setup, near: float, far: float) -> None:
    layout = setup.layout
    better = replace(
        layout,
        device_link_bytes_per_second=layout.device_link_bytes_per_second * near,
        node_link_bytes_per_second=layout.node_link_bytes_per_second * far,
    )
    assert seconds(replace(setup, layout=better)) <= seconds(setup) * SLACK


@EXAMPLES
@given(setups())
def test_twice_the_batch_never_lowers_tokens_a_second(setup: Setup) -> None:
    assert rate(replace(setup, micro_batch=2 * setup.micro_batch)) * SLACK >= rate(setup)
    assert rate(replace(setup, micro_steps=2 * setup.micro_steps)) * SLACK >= rate(setup)


@EXAMPLES
@given(setups(), st.integers(1, 64), st.integers(1, 64))
def test_a_resized_load_takes_the_time_of_the_batch(setup: Setup, factor: int, steps: int) -> None:
    larger = replace(setup, micro_batch=setup.micro_batch * factor, micro_steps=steps)
    short = step_seconds(resized(load_of(setup), factor, steps), MODEL.constants)
    assert math.isclose(short, seconds(larger), rel_tol=1e-9)


ratios = st.lists(
    st.tuples(st.floats(0.1, 10), st.sampled_from("abc")).map(lambda pair: Measured(*pair)), max_size=12
)


@EXAMPLES
@given(st.floats(-1, 1), st.floats(0.01, 0.5), ratios)
def test_calibration_stays_between_belief_and_rows(
    mean: float, deviation: float, rows: list[Measured]
) -> None:
    found = calibrated(Correction(mean, deviation), rows)
    ends = [mean, *(math.log(row.ratio) for row in rows)]
    assert min(ends) - 1e-9 <= found.mean <= max(ends) + 1e-9
    assert found.deviation <= deviation * SLACK
    assert found.samples == len(rows)
