"""Fake tensors for whole training steps: values that code reads from them, and copies of modules."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

_READ = torch.ops.aten._local_scalar_dense.default  # noqa: SLF001 - so named


class OneFakeMode(FakeTensorMode):
    """A fake mode that a deep copy of a module (torch's own encoder makes some) does not duplicate."""

    def __deepcopy__(self, memo: dict[int, Any]) -> OneFakeMode:
        return self


class ValuesAreOne(TorchDispatchMode):
    """What code reads from a fake tensor is 1 (true): norms in an optimizer, whether a mask is all ones."""

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch's interface
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operation gives
        """Answer reads, let everything else pass."""
        if func is _READ:
            dtype: torch.dtype = args[0].dtype
            return True if dtype == torch.bool else 1.0 if dtype.is_floating_point else 1
        return func(*args, **(kwargs or {}))


@contextmanager
def unmoved() -> Generator[None]:
    """Within it `module.to(…)` does nothing: fake parameters cannot be moved, and need not be."""
    plain = nn.Module.to

    def stay(module: nn.Module, *_arguments: object, **_named: object) -> nn.Module:
        return module

    nn.Module.to = stay  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        nn.Module.to = plain
