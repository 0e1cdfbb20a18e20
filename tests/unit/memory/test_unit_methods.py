"""LoRA and QLoRA: what is trained, what 4 bits keep, and that recipes pass the gate within the method."""

from __future__ import annotations

import memory_models as models
import pytest
import torch
from torch import nn

from headway.errors import UserError
from headway.memory.gate import check
from headway.memory.layers.four_bit import BLOCK, FourBitLinear, from_four_bits, to_four_bits
from headway.memory.methods import adapt, quantize_linears
from headway.memory.recipe import Recipe, uniform
from headway.memory.registry import LEAN_LAYERS

LEAN = Recipe(layers=LEAN_LAYERS, recompute=uniform("matmul+attention"), micro_batch=4)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (8, 64), (65, 3), (128, 96)])
def test_four_bits_keep_a_weight_to_half_a_step_of_its_block(shape: tuple[int, int]) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    packed, scale = to_four_bits(weight)
    assert packed.numel() == -(-weight.numel() // BLOCK) * BLOCK // 2
    again = from_four_bits(packed, scale, weight.shape, torch.float32)
    steps = scale.repeat_interleave(BLOCK)[: weight.numel()].view(shape)
    assert ((again - weight).abs() <= 0.16 * steps).all()  # half of the widest step, 0.304, and a little
    exact = to_four_bits(again)
    assert torch.equal(exact[0], packed)


def test_a_zero_weight_stays_zero() -> None:
    packed, scale = to_four_bits(torch.zeros(2, 5))
    assert torch.equal(from_four_bits(packed, scale, torch.Size((2, 5)), torch.float32), torch.zeros(2, 5))


def test_a_four_bit_linear_is_the_linear_of_its_rounded_weight() -> None:
    plain = nn.Linear(24, 10)
    lean = FourBitLinear(plain)
    with torch.no_grad():
        plain.weight.copy_(from_four_bits(lean.weight, lean.scale, plain.weight.shape, torch.float32))
    x = torch.randn(2, 3, 24, requires_grad=True)
    (wanted,) = torch.autograd.grad(plain(x).pow(2).sum(), x)
    (found,) = torch.autograd.grad(lean(x).pow(2).sum(), x)
    assert torch.allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert torch.allclose(lean(x), plain(x), atol=1e-6)
    assert not any(p.requires_grad for p in lean.parameters())


@pytest.mark.parametrize("method", ["lora", "qlora"])
@pytest.mark.parametrize("family", ["bert", "roberta", "llama", "qwen2"])
def test_recipes_pass_the_gate_within_a_method(family: str, method: str) -> None:
    model = adapt(models.model(family), method, rank=4, random=True)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert 0 < trained < sum(p.numel() for p in model.parameters()) / 3
    report = check(model, models.batch(), LEAN)
    assert report.passed, report.problems
    assert len(report.compared) >= 16


def test_lora_passes_on_a_model_of_conv1d() -> None:
    assert check(adapt(models.model("gpt2"), "lora", rank=4, random=True), models.batch(), LEAN).passed


def test_the_head_is_not_quantized() -> None:
    model = models.model("llama")
    names = quantize_linears(model)
    assert len(names) == 14
    assert type(model.lm_head) is nn.Linear


def test_what_cannot_be_adapted_is_said() -> None:
    with pytest.raises(UserError, match="no method"):
        adapt(models.model("bert"), "prefix")
    with pytest.raises(UserError, match="no adapter"):
        adapt(models.model("bert"), "lora", targets=("nothing_like_it",))
