"""Dropout masks that two models share: the reference draws its masks as our layers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from headway.memory.layers.masks import draw_seed, keep_mask

_BERNOULLI = torch.ops.aten.bernoulli_.float


class SharedMasks(TorchDispatchMode):
    """Every mask that PyTorch's dropout draws comes from a seed of the default generator.

    Works below autograd: attention's inner dropout and recomputation are covered. A recomputation that does
    not restore the generator therefore draws other masks than its forward pass, and is found out.
    """

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """`bernoulli_(p)` without a generator of its own is replaced; all else passes."""
        named: dict[str, Any] = kwargs or {}
        if func is _BERNOULLI and named.get("generator") is None:
            tensor = args[0]
            share = args[1] if len(args) > 1 else named.get("p", 0.5)
            seed = draw_seed(tensor)
            return tensor.copy_(keep_mask(seed, tuple(tensor.shape), 1.0 - share, tensor))
        return func(*args, **named)


def with_shared_masks(seed: int, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the work gives
    """Do work with PyTorch's generator seeded and masks shared."""
    torch.manual_seed(seed)
    with SharedMasks():
        return work()
