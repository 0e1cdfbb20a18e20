"""Blocks that keep less: recomputed as a whole, or but for what a policy keeps, or offloaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.autograd.graph import save_on_cpu
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from headway.memory.recipe import Keep

_aten = torch.ops.aten
_MATMUL = {_aten.mm.default, _aten.addmm.default}
_ATTENTION_NAMES = (
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
)
_ATTENTION = {getattr(_aten, name).default for name in _ATTENTION_NAMES if hasattr(_aten, name)}


def _policy(
    kept: frozenset[object], _ctx: object, op: object, *_args: object, **_kw: object
) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE


def contexts_of(keep: Keep) -> Callable[[], Any] | None:
    """The context function of `torch.utils.checkpoint` for a policy; None recomputes everything."""
    if keep == "nothing":
        return None
    kept = frozenset(_ATTENTION if keep == "attention" else _ATTENTION | _MATMUL)
    return partial(create_selective_checkpoint_contexts, partial(_policy, kept))


_CACHES = ("cache", "past_key_values", "past_key_value", "layer_past")


def _without_cache(kwargs: dict[str, Any]) -> dict[str, Any]:
    """A cache of keys and values would grow once more in the recomputation; training has no use for it."""
    emptied = {name: None for name in _CACHES if name in kwargs}
    return {**kwargs, **emptied, **({"use_cache": False} if "use_cache" in kwargs else {})}


class RecomputedBlock:
    """Mixed into a block's class; `keep` is its policy."""

    keep: Keep
    lean_calls: int

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - a block's own signature
        """The block, recomputed in the backward pass with the same random numbers."""
        forward = super().forward  # pyright: ignore[reportAttributeAccessIssue]
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        self.lean_calls += 1
        args = tuple(None if type(item).__name__.endswith("Cache") else item for item in args)
        kept = _without_cache(kwargs)
        contexts = contexts_of(self.keep)
        more = {} if contexts is None else {"context_fn": contexts}
        return checkpoint(forward, *args, use_reentrant=False, preserve_rng_state=True, **more, **kept)


class OffloadedBlock:
    """Mixed into a block's class; what it keeps for the backward pass lies in host memory."""

    lean_calls: int

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - a block's own signature
        """The block; its kept tensors are copied to the host and back."""
        forward = super().forward  # pyright: ignore[reportAttributeAccessIssue]
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        self.lean_calls += 1
        with save_on_cpu(pin_memory=torch.cuda.is_available()):
            return forward(*args, **kwargs)
