"""Closed forms against published counts."""

from __future__ import annotations

import pytest

from headway.errors import UserError
from headway.profile.closed_form import parameter_count, profile_of
from headway.profile.configs import shape_of, short_names

PUBLISHED = {
    "bert-base": 109_514_298,
    "bert-large": 335_174_458,
    "roberta-large": 355_412_057,
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "vit-l": 304_326_632,
    "minilm-l6": 22_744_506,
}


def test_every_short_name_has_a_published_count():
    assert set(short_names()) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_counted_exactly(name):
    assert parameter_count(shape_of(name, {})) == PUBLISHED[name]


def test_full_mixed_precision_adamw_takes_sixteen_bytes_a_weight():
    for precision in ("bf16", "fp32"):
        profile = profile_of(shape_of("gpt2", {}), precision=precision)
        assert profile.weight_bytes + profile.state_bytes == 16 * profile.parameters


def test_an_encoder_keeps_34_bytes_per_token_and_hidden_unit_in_16_bit_and_twice_that_in_fp32():
    shape = shape_of("bert-large", {})
    assert profile_of(shape).layer_bytes_per_token == 34 * 1024
    assert profile_of(shape, precision="fp32").layer_bytes_per_token == 68 * 1024


def test_lora_trains_its_adapters_only():
    full, lora = (
        profile_of(shape_of("llama-3.1-8b", {})),
        profile_of(shape_of("llama-3.1-8b", {}), method="lora", rank=16, targets=4),
    )
    assert lora.trainable == 32 * 4 * 16 * 2 * 4096
    assert lora.weight_bytes == full.weight_bytes
    assert lora.state_bytes < full.state_bytes / 50
    assert lora.flops_per_token < full.flops_per_token


def test_recompute_keeps_less_and_computes_more():
    profile = profile_of(shape_of("gpt2-xl", {}))
    assert profile.recompute_bytes_per_token < profile.activation_bytes_per_token / 10
    assert 0.2 < profile.recompute_flops_per_token / profile.flops_per_token < 0.4


def test_flops_grow_with_the_sequence_by_attention_only():
    short, long = (profile_of(shape_of("gpt2", {}), seq_len=n).flops_per_token for n in (128, 1024))
    assert long - short == pytest.approx(12 * 12 * 768 * (1024 - 128) / 2)


def test_a_configuration_in_the_job_file_is_read_like_a_published_one():
    config = {
        "model_type": "gpt2",
        "n_layer": 12,
        "n_embd": 768,
        "n_head": 12,
        "vocab_size": 50257,
        "n_positions": 1024,
    }
    assert parameter_count(shape_of("mine", config)) == PUBLISHED["gpt2"]
    assert parameter_count(shape_of("gpt2", {"n_layer": 13})) > PUBLISHED["gpt2"]


@pytest.mark.parametrize(
    ("name", "config"),
    [("nothing", {}), ("mine", {"model_type": "mamba"}), ("mine", {"model_type": "bert", "hidden_size": 0})],
)
def test_what_is_not_known_is_refused_by_name(name, config):
    with pytest.raises(UserError) as caught:
        shape_of(name, config)
    assert name in str(caught.value)
