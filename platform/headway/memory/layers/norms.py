"""LayerNorm and RMSNorm whose backward pass works from their output, which the next Linear keeps anyway.

Going back from the output divides by gamma. Where some gamma is near zero, or much smaller than beta, the
input is kept, as usual: the choice is made anew whenever they may have changed. Under autocast, whose norms
give fp32 that no Linear keeps, nothing would be saved and the plain module runs.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd.function import once_differentiable

from headway.memory.layers.deferred import Deferred

SMALLEST_GAMMA = 1e-2
LARGEST_GROWTH = {torch.float32: 100.0, torch.float16: 16.0, torch.bfloat16: 3.0}
RECHECK_EVERY = 16


class NormFromOutput(torch.autograd.Function):
    """A norm over the last dimension; keeps its output, 1/σ and its weights."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        eps: float,
        centred: bool,
    ) -> Tensor:
        """`x` is (…, features), `weight` (and `bias`) (features,); centred is LayerNorm, else RMSNorm."""
        if centred:
            y, _mean, rstd = torch.native_layer_norm(x, list(weight.shape), weight, bias, eps)
        else:
            wide = x.to(torch.promote_types(x.dtype, torch.float32))
            rstd = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
            y = weight * (wide * rstd).to(x.dtype)
        ctx.centred = centred
        ctx.save_for_backward(y, rstd, weight, bias)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's context  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gradients of input, weight and bias; arithmetic in fp32 at least."""
        (grad,) = grads
        y, rstd, weight, bias = ctx.saved_tensors
        wide_type = torch.promote_types(y.dtype, torch.float32)
        gamma = weight.to(wide_type)
        unit = y.to(wide_type) if bias is None else y.to(wide_type) - bias.to(wide_type)
        unit = unit.div_(gamma) if unit is not y else unit / gamma
        wide = grad.to(wide_type)
        need_x, need_weight, need_bias = ctx.needs_input_grad[:3]
        leading = tuple(range(grad.dim() - 1))
        weight_grad = (wide * unit).sum(leading).to(weight.dtype) if need_weight else None
        bias_grad = wide.sum(leading).to(bias.dtype) if bias is not None and need_bias else None
        x_grad = None
        if need_x:
            scaled = wide * gamma
            along = (scaled * unit).mean(-1, keepdim=True)
            if ctx.centred:
                scaled -= scaled.mean(-1, keepdim=True)
            x_grad = scaled.sub_(unit.mul_(along)).mul_(rstd).to(y.dtype)
        return x_grad, weight_grad, bias_grad, None, None


class GammaCheck:
    """Whether gamma is far enough from zero, remembered while it cannot have changed."""

    def __init__(self) -> None:
        self._version: tuple[int, int] | None = None
        self._age = 0
        self._safe = False

    def is_safe(self, weight: Tensor, bias: Tensor | None) -> bool:
        """Waits for the device once per change of the weight, and on every 16th call."""
        if isinstance(weight, FakeTensor) or weight.is_meta:
            return True
        version = (weight.data_ptr(), weight._version)  # noqa: SLF001 - torch's own counter
        self._age += 1
        if version != self._version or self._age >= RECHECK_EVERY or weight.device.type == "cpu":
            self._version, self._age = version, 0
            gamma = weight.detach().abs()
            # The output's rounding grows by (|beta| + |gamma|) / |gamma| on the way back.
            growth = gamma if bias is None else gamma + bias.detach().abs()
            largest = LARGEST_GROWTH.get(weight.dtype, LARGEST_GROWTH[torch.float32])
            safe = (gamma.amin() > SMALLEST_GAMMA) & ((growth / gamma).amax() <= largest)
            self._safe = bool(safe.item())
        return self._safe


class OutputNorm:
    """Mixed into a norm's class; `gamma_check` and `centred` are set when the module is changed."""

    weight: Tensor
    centred: bool
    gamma_check: GammaCheck
    lean_calls: int

    def forward(self, x: Tensor | Deferred) -> Tensor:
        """The norm of (…, features)."""
        if isinstance(x, Deferred):
            x = x.value()
        if not self._saves(x):
            return super().forward(x)  # pyright: ignore[reportAttributeAccessIssue]
        self.lean_calls += 1
        bias = cast("Tensor | None", getattr(self, "bias", None))
        return NormFromOutput.apply(x, self.weight, bias, eps_of(self), self.centred)

    def _saves(self, x: Tensor) -> bool:
        if not torch.is_grad_enabled() or not x.requires_grad or x.dtype != self.weight.dtype:
            return False
        kind = x.device.type
        if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
            return False
        return self.gamma_check.is_safe(self.weight, cast("Tensor | None", getattr(self, "bias", None)))


def eps_of(module: object) -> float:
    """A norm's epsilon, by either of its usual names; nn.RMSNorm's None is the type's own."""
    for name in ("variance_epsilon", "eps"):
        value = getattr(module, name, None)
        if value is not None:
            return float(value)
    weight = cast("Tensor", getattr(module, "weight"))  # noqa: B009 - a module's attributes are not typed
    return torch.finfo(weight.dtype).eps
