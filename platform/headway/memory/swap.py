"""Give a module another forward pass without touching its parameters, hooks, name or state dict.

The module's class becomes a subclass of itself, as PyTorch's `fully_shard` does: `isinstance` still holds,
copies and pickles work, and `restore` undoes it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from torch import nn


class Swapped:
    """Base of the classes that `swap` makes; `swap_mixin` and `swap_base` are what they are made of."""

    swap_mixin: type
    swap_base: type[nn.Module]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.swap_mixin, self.swap_base), self.__dict__


@cache
def _class(mixin: type, base: type[nn.Module]) -> type[nn.Module]:
    members = {"swap_mixin": mixin, "swap_base": base, "__module__": base.__module__, "__doc__": base.__doc__}
    return cast("type[nn.Module]", type(base.__name__, (mixin, Swapped, base), members))


def _rebuild(mixin: type, base: type[nn.Module]) -> nn.Module:
    made = _class(mixin, base)
    return made.__new__(made)


def swap(module: nn.Module, mixin: type, **attributes: object) -> None:
    """Put a mixin's forward before the module's own; `attributes` are set on the module."""
    module.__dict__.update(attributes)
    module.__class__ = _class(mixin, type(module))


def is_swapped(module: nn.Module, mixin: type) -> bool:
    """Whether the module already has the mixin."""
    return isinstance(module, mixin)
