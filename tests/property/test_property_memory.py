"""Layer techniques against PyTorch's own operations, on odd shapes and awkward values."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from headway.errors import UserError
from headway.memory.applied import apply_recipe
from headway.memory.injection import with_shared_masks
from headway.memory.layers.attention import chunked_attention
from headway.memory.layers.deferred import Deferred
from headway.memory.layers.dropout import pack_bits, unpack_bits
from headway.memory.layers.masks import keep_mask, keep_rows, rows_at_once
from headway.memory.recipe import Recipe

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
sizes = st.integers(1, 9)


def _random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _gradients(loss: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(loss, inputs))


def _close(left: list[Tensor], right: list[Tensor]) -> None:
    for a, b in zip(left, right, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-10), (a - b).abs().max()


@EXAMPLES
@given(st.integers(0, 200), st.integers(0, 2**31))
def test_bits_are_the_mask(count: int, seed: int) -> None:
    mask = torch.rand(count, generator=torch.Generator().manual_seed(seed)) < 0.5
    packed = pack_bits(mask)
    assert packed.numel() == -(-count // 8)
    assert torch.equal(unpack_bits(packed, (count,)), mask)


@EXAMPLES
@given(sizes, sizes, st.integers(1, 40), st.integers(1, 40), st.floats(0, 0.9), st.integers(0, 2**31))
def test_a_mask_made_in_parts_is_the_whole(b: int, h: int, q: int, k: int, p: float, seed: int) -> None:
    shape, like = (b, h, q, k), torch.empty(0)
    parts = [keep_rows(seed, shape, first, p, like) for first in range(0, q, rows_at_once(shape))]
    assert torch.equal(torch.cat(parts, 2), keep_mask(seed, shape, p, like))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_a_mask_keeps_the_share_it_should(p: float) -> None:
    kept = keep_mask(7, (1000, 1000), p, torch.empty(0)).double().mean().item()
    assert abs(kept - (1 - p)) < 0.003


@EXAMPLES
@given(
    sizes,
    sizes,
    sizes,
    sizes,
    sizes,
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 9),
)
def test_chunked_attention_is_attention(
    b: int, h: int, q: int, k: int, d: int, causal: bool, masked: bool, p: float, seed: int
) -> None:
    q_, k_, v_ = (_random(b, h, n, d, seed=seed + i).requires_grad_() for i, n in enumerate((q, k, k)))
    mask = None
    if masked:
        mask = torch.rand(b, 1, q, k, generator=torch.Generator().manual_seed(seed)) < 0.7
        mask[..., 0] = True  # every row sees something: NaN is compared elsewhere
    causal = causal and mask is None
    weight = _random(b, h, q, d, seed=9)

    def mine() -> list[Tensor]:
        out = chunked_attention(q_, k_, v_, mask, dropout=p, scale=0.7, causal=causal)
        return _gradients((out * weight).sum(), [q_, k_, v_])

    def plain() -> list[Tensor]:
        scores = q_ @ k_.transpose(-1, -2) * 0.7
        seen = torch.ones(q, k, dtype=torch.bool).tril() if causal else mask
        if seen is not None:
            scores = scores.masked_fill(~seen, float("-inf"))
        weights = torch.dropout(scores.softmax(-1), p, train=True)
        return _gradients((weights @ v_ * weight).sum(), [q_, k_, v_])

    _close(with_shared_masks(seed, mine), with_shared_masks(seed, plain))


class Block(nn.Module):
    """A norm, an activation and what is around them, of any width."""

    def __init__(self, width: int, inner: int, norm: str, gamma: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width) if norm == "layer" else nn.RMSNorm(width, eps=1e-6)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.act, self.drop = nn.GELU(), nn.Dropout(0.2)
        with torch.no_grad():
            self.norm.weight.copy_(torch.linspace(gamma, 1.5, width))
            if norm == "layer":
                self.norm.bias.copy_(torch.linspace(-1, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(self.down(self.drop(self.act(self.up(self.norm(x)))))) + x


@EXAMPLES
@given(
    st.lists(sizes, min_size=1, max_size=3), sizes, sizes, st.sampled_from(["layer", "rms"]),
    st.sampled_from([0.0, 1e-12, -1e-4, 0.5, 1.0]), st.integers(0, 99),
)  # fmt: skip
def test_a_block_keeps_its_gradients_whatever_gamma(
    leading: list[int], width: int, inner: int, norm: str, gamma: float, seed: int
) -> None:
    plain = Block(width, inner, norm, gamma).double()
    lean = copy.deepcopy(plain)
    apply_recipe(lean, Recipe(layers=("fused_activation", "norm_from_output", "replayed_dropout")))
    x = _random(*leading, width, seed=seed)

    def gradients(model: nn.Module) -> list[Tensor]:
        inputs = x.clone().requires_grad_()
        loss = model(inputs).pow(2).sum()
        return _gradients(loss, [inputs, *model.parameters()])

    found = with_shared_masks(seed, lambda: gradients(lean))
    _close(found, with_shared_masks(seed, lambda: gradients(plain)))
    assert all(torch.isfinite(grad).all() for grad in found)


class Head(nn.Module):
    """A vocabulary head that a loop reads in one of the usual ways."""

    def __init__(self, width: int, vocabulary: int, bias: bool) -> None:
        super().__init__()
        self.head = nn.Linear(width, vocabulary, bias=bias)

    def forward(self, hidden: Tensor, labels: Tensor, way: str) -> Tensor:
        logits = self.head(hidden)
        if way == "shift":
            return F.cross_entropy(logits[:, :-1, :].reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1))
        if way == "sum":
            return F.cross_entropy(logits.float().view(-1, logits.size(-1)), labels.view(-1), reduction="sum")
        if way == "smooth":
            return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1), label_smoothing=0.1)
        if way == "transposed":
            return F.cross_entropy(logits.transpose(1, 2), labels)
        if way == "read":
            return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1)) + logits.pow(2).mean()
        return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


@EXAMPLES
@given(
    sizes, st.integers(2, 40), st.integers(1, 6), st.integers(0, 50), st.booleans(), st.integers(0, 99),
    st.sampled_from(["plain", "shift", "sum", "smooth", "transposed", "read"]),
)  # fmt: skip
def test_the_chunked_loss_is_the_loss(
    b: int, s: int, width: int, more: int, bias: bool, seed: int, way: str
) -> None:
    vocabulary = 5 * width + more
    plain = Head(width, vocabulary, bias)
    lean = copy.deepcopy(plain)
    apply_recipe(lean, Recipe(layers=("fused_loss",)))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, vocabulary, (b, s), generator=generator)
    labels[torch.rand(b, s, generator=generator) < 0.3] = -100
    labels[0, -1] = 0  # the mean over no token at all is not a number in both
    hidden = torch.randn(b, s, width, generator=generator)

    def gradients(model: nn.Module) -> list[Tensor]:
        inputs = hidden.clone().requires_grad_()
        loss = model(inputs, labels, way) * 3
        return [loss.detach(), *_gradients(loss, [inputs, *model.parameters()])]

    for mine, theirs in zip(gradients(lean), gradients(plain), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_a_deferred_tensor_that_loses_its_gradient_is_refused() -> None:
    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Tensor:
            return torch.relu(x)

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Tensor:
            return grads[0]

    x = torch.randn(3, 4, requires_grad=True)
    late = Deferred(F.gelu, (x,), x.shape, x.dtype)
    with pytest.raises(UserError, match="gradient"):
        Custom.apply(late)


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t + 1, lambda t: 1 - t, lambda t: t * 2, lambda t: t @ torch.eye(4), lambda t: -t,
        lambda t: t / 2,
        lambda t: t.sum(0), lambda t: torch.cat([t, t]), lambda t: t[0], lambda t: t.transpose(0, 1),
        F.relu, lambda t: t.view(2, 6), lambda t: t.to(torch.float64),
        lambda t: torch.ones(3, 4) * t,
        lambda t: F.linear(t, torch.eye(4)), lambda t: torch.addmm(torch.zeros(4), t, torch.eye(4)),
        lambda t: t.reshape(-1), lambda t: t.float().contiguous(), lambda t: t.unsqueeze(0),
    ],
)  # fmt: skip
def test_a_deferred_tensor_is_that_tensor(use: Any) -> None:
    x = torch.randn(3, 4, requires_grad=True)

    def gradient(value: Any) -> tuple[Tensor, Tensor]:
        found = use(value)
        found = found.value() if isinstance(found, Deferred) else found
        return found.detach(), torch.autograd.grad(found.double().sum(), x)[0]

    late = Deferred(F.gelu, (x,), x.shape, x.dtype)
    for mine, theirs in zip(gradient(late), gradient(F.gelu(x)), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-6, atol=1e-7)
