"""The repeated blocks of a model: what recompute, offload and sharding work by."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn


def is_matrix(module: nn.Module) -> bool:
    """Whether a module multiplies by a matrix: nn.Linear, or the Conv1D of GPT-2 in transformers."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def matrices_in(module: nn.Module) -> tuple[nn.Module, ...]:
    """All matrix modules in a module."""
    return tuple(child for child in module.modules() if is_matrix(child))


def blocks_of(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The blocks in their order, by name: members of a list of modules of one class, two matrices each.

    Of lists in lists the outermost counts. A model without such a list has no blocks.
    """
    found: list[tuple[str, nn.Module]] = []
    for name, module in model.named_modules():
        inside = any(name == other or name.startswith(f"{other}.") for other, _block in found)
        if not inside and _is_stack(module):
            found.extend((f"{name}.{key}" if name else key, child) for key, child in module.named_children())
    return found


def _is_stack(module: nn.Module) -> bool:
    if not isinstance(module, nn.ModuleList | nn.Sequential):
        return False
    children = list(module.children())
    if not children or len({type(child) for child in children}) != 1:
        return False
    # A list of lists is not called: its members are no blocks, theirs may be.
    called = not isinstance(children[0], nn.ModuleList | nn.ModuleDict)
    return called and all(not is_matrix(child) and len(matrices_in(child)) >= 2 for child in children)


def surroundings(model: nn.Module) -> Iterator[tuple[str, nn.Module, nn.Module]]:
    """Every module with its name and the block it stands in (its parent, outside of blocks)."""
    blocks = blocks_of(model)
    for name, module in model.named_modules():
        block = next((block for key, block in blocks if name.startswith(f"{key}.")), None)
        parent = model.get_submodule(name.rpartition(".")[0]) if name else model
        yield name, module, block if block is not None else parent
