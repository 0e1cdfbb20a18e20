"""Throughput: loads by hand, shapes by their published counts, what a fit finds, what own rows change."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from headway.catalog.tables import accelerators
from headway.catalog.throughput import throughput_fit, throughput_rows
from headway.planner.throughput.constants import NAMES, PRIORS, typical
from headway.planner.throughput.fit import NOISE, Observation, fitted
from headway.planner.throughput.linear import lower, substitute, variance
from headway.planner.throughput.loads import filled, load_of, resized
from headway.planner.throughput.model import Correction, Measured, calibrated, model_from, model_of, predicted
from headway.planner.throughput.published import device_of, observation_of, observations, setup_of
from headway.planner.throughput.setups import Device, Layout, Recompute, Setup
from headway.planner.throughput.shapes import key_of, shape_of, shape_of_parameters, shape_of_profile
from headway.planner.throughput.spreads import family_spreads
from headway.planner.throughput.step import step_seconds, tokens_per_second_per_device
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of as configured

A100 = Device("a100-80", {"bf16": 312e12, "fp16": 312e12, "tf32": 156e12, "fp32": 19.5e12}, 85e9, 2.039e12)
LAYOUT = Layout(8, 8, 300e9, 200e9, "fsdp")
MODEL = shape_of("MPT-7B")
assert MODEL is not None
SETUP = Setup(MODEL, A100, LAYOUT, "bf16", 4, 2048, micro_steps=2)
ROWS = {row.row_id: row for row in throughput_rows()}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("MPT-350M", 355985408), ("MPT-1B", 1315950592), ("MPT-3B", 2651837440), ("MPT-30B", 29975214080)],
)
def test_a_published_shape_has_its_published_weights(name: str, parameters: int) -> None:
    shape = shape_of(name, parameters)
    assert shape is not None
    positions = 2048 * shape.hidden
    assert 12 * shape.layers * shape.hidden**2 + shape.vocab * shape.hidden + positions == pytest.approx(
        parameters, rel=1e-3
    )


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Llama 3.1 8B", "llama-3-8b"),
        ("LLAMA3 70B", "llama-3-70b"),
        ("Qwen3 235B a22B", "qwen3-235b-a22b"),
        ("BERT-Large", "bert-large"),
        ("DeepSeek V3", "deepseek-v3"),
    ],
)
def test_names_are_written_in_many_ways(name: str, key: str) -> None:
    assert key_of(name) == key
    assert shape_of(name) is not None


@pytest.mark.parametrize(
    ("parameters", "hidden", "layers"),
    [(6.7e9, 4096, 32), (175e9, 12288, 96), (1.3e9, 2048, 24), (13e9, 5120, 40)],
)
def test_an_unknown_model_has_usual_proportions(parameters: float, hidden: int, layers: int) -> None:
    shape = shape_of_parameters(parameters)
    assert shape.hidden == pytest.approx(hidden, rel=0.12)
    assert shape.layers == pytest.approx(layers, rel=0.25)
    assert shape.matmul_parameters == parameters


def test_a_model_without_name_or_weights_has_no_shape() -> None:
    assert shape_of("something new") is None


@pytest.mark.parametrize("name", ["bert-large", "gpt2", "gpt2-xl"])
@pytest.mark.parametrize("lean", [False, True])
@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_profile_tells_its_shape(name: str, lean: bool, method: str) -> None:
    known = configured(name, {})
    shape = shape_of_profile(profile_of(known, lean=lean, method=method), causal=known.causal)
    assert (shape.layers, shape.hidden) == (known.layers, known.hidden)
    assert shape.vocab == pytest.approx(known.vocab, rel=0.001)


def test_a_profile_with_other_blocks_has_a_width_near_its_own() -> None:
    known = configured("llama-3.1-8b", {})
    profile = profile_of(known)
    shape = shape_of_profile(profile)
    assert shape.hidden == pytest.approx(known.hidden, rel=0.1)
    assert 6 * shape.matmul_parameters + 6 * shape.layers * shape.hidden * profile.seq_len == pytest.approx(
        profile.flops_per_token, rel=0.01
    )


def test_a_profile_that_keeps_nothing_still_has_a_shape() -> None:
    profile = replace(profile_of(configured("gpt2-xl", {})), recompute_bytes_per_token=0.0)
    assert shape_of_profile(profile).hidden > 1000


def test_a_load_by_hand() -> None:
    load = load_of(SETUP)
    tokens = 4 * 2048
    blocks = 12 * 32 * 4096**2
    assert load.matmul_seconds == pytest.approx(6 * blocks * tokens / 312e12)
    assert load.head_seconds == pytest.approx(6 * 50368 * 4096 * tokens / 312e12)
    # Forward 4·S·h, half of it for a causal model; backward two and a half times that.
    assert load.attention_seconds == pytest.approx(3.5 * 2 * 2048 * 4096 * 32 * tokens / 312e12)
    weights = 2 * SETUP.shape.parameters
    assert load.gathered_seconds == pytest.approx(7 / 8 * 3 * weights / 300e9)
    assert (load.gathered_hops, load.reduced_seconds) == (0, 0)
    assert load.tokens_per_step == tokens * 2 * 8


def test_recompute_repeats_the_blocks_but_for_their_last_matrix() -> None:
    plain, full = load_of(SETUP), load_of(replace(SETUP, recompute=Recompute.FULL))
    assert full.matmul_seconds / plain.matmul_seconds == pytest.approx((6 + 2 * 2 / 3) / 6)
    assert full.head_seconds == plain.head_seconds
    assert full.attention_seconds / plain.attention_seconds == pytest.approx(4.5 / 3.5)


def test_data_parallelism_reduces_once_a_step_and_crosses_machines() -> None:
    near = load_of(replace(SETUP, layout=replace(LAYOUT, sharding="ddp")))
    far = load_of(replace(SETUP, layout=replace(LAYOUT, sharding="ddp", devices=32)))
    gradients = 2 * SETUP.shape.parameters
    assert near.reduced_seconds == pytest.approx(2 * 7 / 8 * gradients / 300e9)
    assert far.reduced_seconds == pytest.approx(2 * 31 / 32 * gradients / 200e9)
    assert near.reduced_hops == 0
    assert far.reduced_hops > 0
    alone = load_of(replace(SETUP, layout=replace(LAYOUT, devices=1)))
    assert (alone.gathered_seconds, alone.reduced_seconds) == (0, 0)


def test_hybrid_shards_gather_near_and_reduce_far() -> None:
    load = load_of(replace(SETUP, layout=replace(LAYOUT, sharding="hsdp", devices=32)))
    weights = 2 * SETUP.shape.parameters
    assert load.gathered_seconds == pytest.approx(7 / 8 * 3 * weights / 300e9)
    assert 0 < load.reduced_seconds < weights / 200e9


def test_tensor_parallel_groups_share_the_network() -> None:
    wide = replace(LAYOUT, devices=64, tensor=8)
    load = load_of(replace(SETUP, layout=wide))
    weights = 2 * SETUP.shape.parameters / 8
    assert load.gathered_seconds == pytest.approx(7 / 8 * 3 * weights / (200e9 / 8))
    assert load.block_exchange_seconds > 0
    sent = load_of(replace(SETUP, layout=replace(wide, overlapped=True))).block_exchange_seconds
    assert sent == load.block_exchange_seconds / 2


def test_experts_get_their_tokens() -> None:
    mixture = shape_of("Mixtral 8x7B")
    assert mixture is not None
    layout = replace(LAYOUT, expert=8)
    assert load_of(replace(SETUP, shape=mixture, layout=layout)).block_exchange_seconds > 0
    assert load_of(replace(SETUP, shape=mixture)).block_exchange_seconds == 0


def test_precisions_have_their_peaks() -> None:
    h100 = device_of(accelerators()["h100-sxm"])
    assert h100 is not None
    half = load_of(replace(SETUP, device=h100))
    narrow = load_of(replace(SETUP, device=h100, precision="fp8"))
    assert half.matmul_seconds / narrow.matmul_seconds == pytest.approx(2, rel=0.01)
    assert narrow.head_seconds == half.head_seconds
    assert load_of(replace(SETUP, precision="fp8")).matmul_seconds == load_of(SETUP).matmul_seconds
    single = load_of(replace(SETUP, precision="fp32"))
    assert single.matmul_seconds / load_of(SETUP).matmul_seconds == pytest.approx(16)


def test_a_resized_load_is_the_load_of_the_larger_batch() -> None:
    assert resized(load_of(replace(SETUP, micro_batch=1)), 16, 5) == load_of(
        replace(SETUP, micro_batch=16, micro_steps=5)
    )


def test_memory_fills_with_the_batch_and_empties_with_recompute() -> None:
    assert filled(replace(SETUP, micro_batch=8)) > filled(SETUP)
    assert filled(replace(SETUP, recompute=Recompute.FULL)) < filled(SETUP)


def test_a_system_of_equations() -> None:
    matrix = [[4.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 3.0]]
    right = [1.0, -2.0, 0.5]
    found = substitute(lower(matrix), right)
    back = [sum(a * b for a, b in zip(line, found, strict=True)) for line in matrix]
    assert back == pytest.approx(right)
    assert variance(lower([[4.0, 0.0], [0.0, 16.0]]), [0, 1]) == pytest.approx(1 / 4 + 1 / 16)


def _rows(share: float, offset: float) -> list[Observation]:
    truth = replace(typical(), matmul_share=share)
    found: list[Observation] = []
    for name in ("MPT-350M", "MPT-1B", "MPT-3B", "MPT-7B"):
        shape = shape_of(name)
        assert shape is not None
        for batch in (1, 2, 4, 8):
            load = load_of(replace(SETUP, shape=shape, micro_batch=batch))
            rate = tokens_per_second_per_device(load, truth) * math.exp(offset)
            found.append(Observation(load, rate, "own/stack x", "a100-80", name))
    return found


def test_a_fit_finds_what_made_the_rows() -> None:
    rows = _rows(0.74, 0.1)
    fit = fitted(rows)
    model = model_from(fit, family_spreads(rows, fit))
    level = math.exp(model.correction("own/stack x", "a100-80").mean)
    for row in rows:
        assert tokens_per_second_per_device(row.load, model.constants) * level == pytest.approx(
            row.measured, rel=0.01
        )
    # What no row speaks of stays where it was believed.
    assert fit.constants.expert_cost == pytest.approx(PRIORS["expert_cost"].typical)
    assert fit.noise["own/stack x"] < NOISE
    assert model.family_spreads["own/stack x"] < 0.1


def test_one_odd_row_moves_nothing() -> None:
    rows = _rows(0.8, 0.0)
    odd = [replace(rows[0], measured=rows[0].measured * 3), *rows[1:]]
    plain, disturbed = fitted(rows), fitted(odd)
    for name in NAMES:
        assert getattr(disturbed.constants, name) == pytest.approx(getattr(plain.constants, name), rel=0.1)


def test_what_is_not_known_widens_the_interval() -> None:
    model = model_of(throughput_fit())
    source = "mosaicml/llm-foundry scripts/train/benchmarking/README.md pretrain"
    seen = model.correction(source, "a100-80")
    other_device = model.correction(source, "a10g")
    other_path = model.correction("mosaicml/llm-foundry another pretrain", "a100-80")
    other_software = model.correction("own", "a100-80")
    nothing = model.correction("own", "a10g")
    sizes = [one.deviation for one in (seen, other_device, other_path, other_software, nothing)]
    assert sizes == sorted(sizes)
    assert nothing.mean == 0
    assert (nothing.basis, other_software.basis) == ("physics", "published rows of device")
    assert "stack" in other_device.basis
    assert "project" in other_path.basis


def test_own_rows_correct_by_what_they_are_worth() -> None:
    prior = Correction(0.0, 0.25)
    assert calibrated(prior, []) == prior
    once = calibrated(prior, [Measured(1.2, "a")])
    often = calibrated(prior, [Measured(1.2, name) for name in "abcdefgh"])
    assert 0 < once.mean < often.mean < math.log(1.2)
    assert prior.deviation > once.deviation > often.deviation
    # Many rows of one model say little of the next model, and much of their own.
    same = calibrated(prior, [Measured(1.2, "a")] * 8)
    assert same.deviation > often.deviation
    own, deviation = same.families["a"]
    assert same.mean + own == pytest.approx(math.log(1.2), rel=0.05)
    assert deviation < prior.family_spread
    assert same.samples == 8
    assert "8 own rows" in same.basis


def test_a_prediction_is_the_physics_times_its_correction() -> None:
    model = model_of(throughput_fit())
    plain = predicted(SETUP, model, Correction(0.0, 0.1))
    faster = predicted(SETUP, model, Correction(0.2, 0.1))
    assert faster.tokens_per_second / plain.tokens_per_second == pytest.approx(math.exp(0.2))
    assert plain.step_seconds == pytest.approx(step_seconds(load_of(SETUP), model.constants))
    assert plain.low < plain.tokens_per_second < plain.high
    known = replace(Correction(0.0, 0.1), families={"mine": (0.1, 0.01)})
    mine = predicted(SETUP, model, known, "mine")
    assert mine.tokens_per_second > plain.tokens_per_second
    assert mine.high / mine.low < plain.high / plain.low
    assert predicted(SETUP, model).basis == "published rows of device"


def test_rows_become_setups() -> None:
    setup = setup_of(ROWS["T0004"], accelerators()["h100-sxm"])
    assert setup is not None
    assert (setup.layout.devices, setup.layout.nodes, setup.layout.sharding) == (512, 64, "fsdp")
    assert (setup.micro_batch, setup.micro_steps, setup.recompute) == (8, 1, Recompute.FULL)
    split = setup_of(ROWS["T0260"], accelerators()["h100-sxm"])
    assert split is not None
    assert (split.layout.tensor, split.layout.pipeline, split.layout.virtual) == (4, 8, 5)
    assert split.layout.replicas == 2
    assert split.micro_steps == 128
    wide = setup_of(ROWS["T0453"], accelerators()["rtx-3090"])
    assert wide is not None
    assert (wide.precision, wide.shape.fused_attention) == ("tf32", False)
    pods = setup_of(ROWS["T0313"], accelerators()["tpu-v5e"])
    assert pods is not None
    assert (pods.layout.sharding, pods.layout.devices_per_node) == ("hsdp", 256)


def test_rows_that_say_too_little_are_left_out() -> None:
    row = replace(ROWS["T0004"], model="something new", parameters=None)
    assert observation_of(row, accelerators()["h100-sxm"]) is None
    assert observation_of(ROWS["T0004"], accelerators()["gaudi1"]) is None
    silent = replace(ROWS["T0004"], tokens_per_second=None, mfu=None, model_flops_per_second=None)
    assert observation_of(silent, accelerators()["h100-sxm"]) is None
    unknown = replace(ROWS["T0004"], accelerator="no such device")
    assert len(observations([unknown, ROWS["T0004"]], accelerators())) == 1


def test_utilisation_alone_tells_the_throughput() -> None:
    row = ROWS["T0300"]
    found = observation_of(replace(row, model_flops_per_second=None), accelerators()["tpu-v5p"])
    stated = observation_of(row, accelerators()["tpu-v5p"])
    assert found is not None
    assert stated is not None
    assert found.measured == pytest.approx(stated.measured, rel=0.01)
    assert found.assumed
