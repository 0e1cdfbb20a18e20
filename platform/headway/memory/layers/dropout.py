"""Dropout that keeps 8 bytes (its seed) or one bit an element, instead of a mask."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from headway.memory.layers.deferred import Deferred, has_hooks
from headway.memory.layers.masks import draw_seed, keep_mask, scaled


class ReplayedDropout(torch.autograd.Function):
    """Dropout whose mask is drawn again, from its seed, in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, seed: int) -> Tensor:  # noqa: ANN401 - torch's context
        """`x` of any shape; keeps nothing but the seed."""
        ctx.p, ctx.seed, ctx.shape = p, seed, tuple(x.shape)
        return scaled(x, keep_mask(seed, tuple(x.shape), p, x), p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401 - torch's context  # pyright: ignore[reportIncompatibleMethodOverride]
        """The same mask on the gradient."""
        (grad,) = grads
        return scaled(grad, keep_mask(ctx.seed, ctx.shape, ctx.p, grad), ctx.p), None, None


class PackedDropout(torch.autograd.Function):
    """Dropout that keeps its mask as one bit an element."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, seed: int) -> Tensor:  # noqa: ANN401 - torch's context
        """`x` of any shape; keeps ceil(elements / 8) bytes."""
        keep = keep_mask(seed, tuple(x.shape), p, x)
        ctx.p, ctx.shape = p, tuple(x.shape)
        ctx.save_for_backward(pack_bits(keep))
        return scaled(x, keep, p)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401 - torch's context  # pyright: ignore[reportIncompatibleMethodOverride]
        """The kept mask on the gradient."""
        (grad,) = grads
        (packed,) = ctx.saved_tensors
        return scaled(grad, unpack_bits(packed, ctx.shape), ctx.p), None, None


def pack_bits(mask: Tensor) -> Tensor:
    """A bool tensor as uint8, eight elements a byte; the last byte is filled with zeros."""
    flat = mask.reshape(-1).to(torch.uint8)
    missing = -flat.numel() % 8
    if missing:
        flat = torch.nn.functional.pad(flat, (0, missing))
    eights = flat.view(-1, 8)
    packed = eights[:, 0].clone()
    for bit in range(1, 8):
        packed |= eights[:, bit] << bit
    return packed


def unpack_bits(packed: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The bool tensor of a shape that `pack_bits` packed."""
    bits = torch.arange(8, dtype=torch.uint8, device=packed.device)
    count = 1
    for size in shape:
        count *= size
    return ((packed[:, None] >> bits) & 1).view(-1)[:count].view(shape).to(torch.bool)


class SeedDropout:
    """Mixed into the class of an nn.Dropout; its forward keeps a seed."""

    p: float
    training: bool
    lean_calls: int

    def forward(self, x: Tensor | Deferred) -> Tensor | Deferred:
        """Dropout in training, the identity in evaluation."""
        if not self.training or self.p == 0.0:
            return x
        self.lean_calls += 1
        if isinstance(x, Deferred) and (x.is_computed or has_hooks(self)):
            x = x.value()
        if isinstance(x, Deferred):
            seed, p = draw_seed(x.leaves[0]), self.p

            def step(value: Tensor) -> Tensor:
                return scaled(value, keep_mask(seed, tuple(value.shape), p, value), p)

            return x.then(step)
        seed = draw_seed(x)
        return ReplayedDropout.apply(x, self.p, seed)


class BitDropout:
    """Mixed into the class of an nn.Dropout; its forward keeps one bit an element."""

    p: float
    training: bool
    lean_calls: int

    def forward(self, x: Tensor | Deferred) -> Tensor | Deferred:
        """Dropout in training, the identity in evaluation."""
        if not self.training or self.p == 0.0:
            return x
        self.lean_calls += 1
        value = x.value() if isinstance(x, Deferred) else x
        return PackedDropout.apply(value, self.p, draw_seed(value))
