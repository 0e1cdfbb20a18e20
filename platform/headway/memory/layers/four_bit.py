"""A Linear whose frozen weight is kept in 4 bits (NormalFloat), as QLoRA trains beside.

bitsandbytes has the kernels for CUDA; this one is ordinary PyTorch, for processors, for traces on fake
tensors and for the gate. Blocks of 64 weights share a largest absolute value in fp32: 4.5 bits a weight. The
code is QLoRA's (arXiv 2305.14314, appendix E).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from headway.memory.layers.deferred import Deferred

BLOCK = 64
CODE = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
)  # fmt: skip


def to_four_bits(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A weight as packed codes, two a byte (uint8), and each block's scale (fp32)."""
    flat = weight.detach().reshape(-1).float()
    blocks = F.pad(flat, (0, -flat.numel() % BLOCK)).view(-1, BLOCK)
    scale = blocks.abs().amax(dim=1)
    code = torch.tensor(CODE, device=weight.device)
    middles = (code[1:] + code[:-1]) / 2
    found = torch.bucketize(blocks / scale.clamp_min(torch.finfo(torch.float32).tiny)[:, None], middles)
    pairs = found.to(torch.uint8).view(-1, 2)
    return pairs[:, 0] | (pairs[:, 1] << 4), scale


def from_four_bits(packed: Tensor, scale: Tensor, shape: torch.Size, dtype: torch.dtype) -> Tensor:
    """The weight that `to_four_bits` packed, rounded."""
    code = torch.tensor(CODE, device=packed.device, dtype=torch.float32)
    low, high = (packed & 15).to(torch.int32), (packed >> 4).to(torch.int32)
    values = code[torch.stack((low, high), dim=1)].view(-1, BLOCK) * scale[:, None]
    return values.view(-1)[: shape.numel()].view(shape).to(dtype)


class _FourBitProduct(torch.autograd.Function):
    """`F.linear` with a packed weight, unpacked once in each pass; the weight gets no gradient."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context
        x: Tensor,
        packed: Tensor,
        scale: Tensor,
        bias: Tensor | None,
        shape: torch.Size,
    ) -> Tensor:
        ctx.save_for_backward(packed, scale)
        ctx.shape = shape
        weight = from_four_bits(packed, scale, shape, x.dtype)
        return F.linear(x, weight, None if bias is None else bias.to(x.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        (grad,) = grads
        packed, scale = ctx.saved_tensors
        through = None
        if ctx.needs_input_grad[0]:
            through = grad @ from_four_bits(packed, scale, ctx.shape, grad.dtype)
        return through, None, None, None, None


class FourBitLinear(nn.Linear):
    """A frozen nn.Linear in 4 bits; `weight` holds packed codes, `scale` one number a block."""

    scale: Tensor

    def __init__(self, plain: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = plain.in_features, plain.out_features
        packed, scale = to_four_bits(plain.weight)
        self.weight = nn.Parameter(packed, requires_grad=False)
        self.register_buffer("scale", scale)
        self.register_parameter("bias", plain.bias)
        for parameter in self.parameters():
            parameter.requires_grad_(False)

    def forward(self, input: Tensor | Deferred) -> Tensor:  # noqa: A002 - nn.Linear's own name
        """The product of (…, in_features) with the unpacked weight; under autocast in its type."""
        x = input.value() if isinstance(input, Deferred) else input
        kind = x.device.type
        if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
            x = x.to(torch.get_autocast_dtype(kind))
        shape = torch.Size((self.out_features, self.in_features))
        return _FourBitProduct.apply(x, self.weight, self.scale, self.bias, shape)
