"""The last Linear and the cross-entropy in one: logits exist for a few tokens at a time only.

`torch.nn.functional.linear_cross_entropy` does the same in one opaque operation; here it is made of ordinary
ones, so that a trace on fake tensors sees its memory, autocast is honoured, and fp16 gradients, which come
before the loss is scaled, are kept in fp32. Works for any model that hands a Linear's result (reshaped,
shifted, as fp32) to `cross_entropy`; whoever reads the logits gets them, computed in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor
from torch.autograd.function import once_differentiable

from headway.errors import UserError
from headway.memory.layers.deferred import Deferred, has_hooks

LEAST_ROWS = 32
WORDS = 8192


class Logits(Deferred):
    """The result of a Linear on `hidden` (…, features), not computed yet.

    It may be read without gradients, as metrics do.
    """

    needs_grad_mode = False

    def __init__(self, hidden: Tensor, head: DeferredHead, dtype: torch.dtype | None = None) -> None:
        self.hidden, self.head = hidden, head
        weight, bias = self.weight, self.bias = head.weight, head.bias
        state = hidden.device.type
        autocast = torch.amp.is_autocast_available(state) and torch.is_autocast_enabled(state)
        self.inner = torch.get_autocast_dtype(state) if autocast else hidden.dtype
        shape = torch.Size((*hidden.shape[:-1], weight.shape[0]))
        leaves = (hidden, weight) if bias is None else (hidden, weight, bias)
        super().__init__(self._compute, leaves, shape, dtype or self.inner)

    def _compute(self, *leaves: Tensor) -> Tensor:
        hidden, weight, *bias = leaves
        return F.linear(hidden, weight, bias[0] if bias else None).to(self.dtype)

    def _with(self, hidden: Tensor, dtype: torch.dtype | None = None) -> Logits:
        return Logits(hidden, self.head, dtype or self.dtype)

    def reshaped(self, *sizes: Any, **named: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Deferred while the vocabulary stays the last dimension."""
        plain = super().reshaped(*sizes, **named)
        if not isinstance(plain, Deferred) or plain.shape[-1] != self.shape[-1]:
            return plain
        shape = plain.shape
        made = self._with(self.hidden.reshape(*shape[:-1], self.hidden.shape[-1]))
        return self.viewed(made, lambda value: value.reshape(shape))

    reshape = reshaped

    def to(self, *targets: Any, **named: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Deferred for fp32; all else computes."""
        if targets == (torch.float32,) and not named and not self.is_computed:
            return self if self.dtype == torch.float32 else self._with(self.hidden, torch.float32)
        return super().to(*targets, **named)

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Deferred for a choice of tokens that leaves the vocabulary whole, as `[..., :-1, :]`."""
        parts = index if isinstance(index, tuple) else (index,)
        whole = slice(None)
        leading = all(part is Ellipsis or isinstance(part, slice) for part in parts)
        keeps_words = len(parts) > 1 and parts[-1] is not Ellipsis and parts[-1] == whole
        if leading and keeps_words and not self.is_computed:
            return self.viewed(self._with(self.hidden[index]), lambda value: value[index])
        return self.value()[index]

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function gives
        """Cross-entropy is fused; all else computes the logits."""
        named = kwargs or {}
        if func is F.cross_entropy:
            found = _fused(*args, **named)
            if found is not None:
                return found
        return super().__torch_function__(func, types, args, named)


def _fused(
    logits: object,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor | None:
    """The loss, or None for what the chunked form does not do."""
    plain = weight is None and size_average is None and reduce is None and label_smoothing == 0.0
    if not plain or reduction not in {"mean", "sum"} or not isinstance(logits, Logits):
        return None
    if logits.is_computed:
        return None  # someone has seen the logits, and may have changed them
    logits.refuse_changed()
    if logits.ndim != 2 or target.dim() != 1 or target.is_floating_point():
        return None
    logits.head.lean_calls += 1
    return ChunkedLoss.apply(
        logits.hidden,
        logits.weight,
        logits.bias,
        target.long(),
        (logits.inner, ignore_index, reduction == "mean"),
    )


def rows_in_chunk(tokens: int, features: int, vocabulary: int) -> int:
    """Tokens whose logits take about as much as all tokens' hidden states, and 32 at least."""
    return max(1, min(tokens, max(LEAST_ROWS, tokens * features // max(1, vocabulary))))


class ChunkedLoss(torch.autograd.Function):
    """Cross-entropy of a Linear: (tokens, features), (vocabulary, features), (vocabulary,), (tokens,)."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's context
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        settings: tuple[torch.dtype, int, bool],
    ) -> Tensor:
        """`settings` are the type of the product, the target to ignore, and mean (else sum)."""
        inner, ignored, mean = settings
        needs = ctx.needs_input_grad
        wide = torch.promote_types(inner, torch.float32)
        seen = target != ignored
        share = seen.sum().to(wide).reciprocal() if mean else torch.ones((), dtype=wide, device=hidden.device)
        with torch.autocast(hidden.device.type, enabled=False):
            across = weight.to(inner)
            loss = torch.zeros((), dtype=wide, device=hidden.device)
            grads = _empty_gradients(hidden, weight, bias, needs, inner)
            rows = rows_in_chunk(hidden.shape[0], hidden.shape[1], weight.shape[0])
            for first in range(0, hidden.shape[0], rows):
                part = slice(first, first + rows)
                chunk = (hidden[part].to(inner), target[part], seen[part])
                loss += _one_chunk(chunk, across, bias, share, grads, part)
        # fp16 gradients wait for the loss's scale in fp32.
        narrow = inner != torch.float16
        types = (hidden.dtype, weight.dtype, None if bias is None else bias.dtype)
        ctx.types = types
        ctx.grads = [
            grad if grad is None or not narrow else grad.to(dtype)
            for grad, dtype in zip(grads, types, strict=True)
        ]
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401  # pyright: ignore[reportIncompatibleMethodOverride]
        """The gradients of the forward pass, scaled in place: there is one backward pass only.

        Raises:
            UserError: it is the second.
        """
        if ctx.grads is None:
            raise UserError("memory.loss_twice")
        (scale,) = grads
        kept, ctx.grads = ctx.grads, None
        found = [
            None if grad is None else grad.mul_(scale).to(dtype)
            for grad, dtype in zip(kept, ctx.types, strict=True)
        ]
        return (*found, None, None)


Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def _empty_gradients(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, needs: tuple[bool, ...], inner: torch.dtype
) -> Gradients:
    wide = torch.promote_types(inner, torch.float32)
    # Before the loss is scaled, fp16 would lose small gradients.
    narrow = wide if inner == torch.float16 else inner
    return (
        torch.empty_like(hidden, dtype=narrow) if needs[0] else None,
        torch.zeros_like(weight, dtype=wide) if needs[1] else None,
        torch.zeros_like(bias, dtype=wide) if bias is not None and needs[2] else None,
    )


def _one_chunk(
    chunk: tuple[Tensor, Tensor, Tensor],
    across: Tensor,
    bias: Tensor | None,
    share: Tensor,
    grads: Gradients,
    part: slice,
) -> Tensor:
    """The loss of some tokens; their gradients are put into `grads`."""
    hidden, target, seen = chunk
    wide = share.dtype
    logits = F.linear(hidden, across, None if bias is None else bias.to(hidden.dtype)).to(wide)
    spread = torch.logsumexp(logits, dim=-1, keepdim=True)
    column = target.masked_fill(~seen, 0)[:, None]
    picked = logits.gather(1, column)
    loss = ((spread - picked)[:, 0] * seen * share).sum()
    if grads[0] is None and grads[1] is None and grads[2] is None:
        return loss
    slope = logits.sub_(spread).exp_()
    slope.scatter_add_(1, column, torch.full_like(picked, -1.0))
    slope *= (seen * share)[:, None]
    if grads[2] is not None:
        grads[2].add_(slope.sum(0))
    inner = slope.to(across.dtype)
    if grads[0] is not None:
        grads[0][part] = inner @ across
    if grads[1] is not None:
        # Words by parts: the product of all of them would be as large as the gradient itself.
        for words in range(0, inner.shape[1], WORDS):
            some = slice(words, words + WORDS)
            grads[1][some].add_(inner[:, some].t() @ hidden)
    return loss


class DeferredHead:
    """Mixed into an nn.Linear whose output is a vocabulary's logits."""

    weight: Tensor
    bias: Tensor | None
    lean_calls: int

    def forward(self, x: Any) -> Any:  # noqa: ANN401 - a tensor or a Deferred
        """Logits: deferred where a loss may follow, at once in inference."""
        hidden = x.value() if isinstance(x, Deferred) else x
        if not torch.is_grad_enabled() or has_hooks(self):
            return F.linear(hidden, self.weight, self.bias)
        return Logits(hidden, self)
