"""Whether a changed model is still the same model: parameters, sharing, names, types, hooks, switches."""

from __future__ import annotations

import torch
from torch import nn

_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)


def differences(plain: nn.Module, changed: nn.Module) -> list[str]:
    """What differs, in words; empty when nothing does."""
    return [
        *_states(plain, changed),
        *_parameters(plain, changed),
        *_modules(plain, changed),
    ]


def _states(plain: nn.Module, changed: nn.Module) -> list[str]:
    before, after = plain.state_dict(), changed.state_dict()
    found = [f"the state dict lacks {key}" for key in before if key not in after]
    found += [f"the state dict has {key} in addition" for key in after if key not in before]
    for key, value in before.items():
        other = after.get(key)
        if not isinstance(other, torch.Tensor) or not isinstance(value, torch.Tensor):
            continue
        if other.dtype != value.dtype:
            found.append(f"{key} is {other.dtype}, was {value.dtype}")
        elif other.shape != value.shape or not torch.equal(other, value):
            found.append(f"{key} has other values")
    return found


def _sharing(model: nn.Module) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), set()).add(name)
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def _parameters(plain: nn.Module, changed: nn.Module) -> list[str]:
    found: list[str] = []
    before, after = _sharing(plain), _sharing(changed)
    found += [f"{' and '.join(sorted(group))} are no longer one parameter" for group in before - after]
    found += [f"{' and '.join(sorted(group))} have become one parameter" for group in after - before]
    trained = {name: p.requires_grad for name, p in changed.named_parameters()}
    for name, parameter in plain.named_parameters():
        if name in trained and trained[name] != parameter.requires_grad:
            found.append(f"{name} {'is no longer' if parameter.requires_grad else 'has become'} trainable")
    return found


def _modules(plain: nn.Module, changed: nn.Module) -> list[str]:
    found: list[str] = []
    after = dict(changed.named_modules())
    for name, module in plain.named_modules():
        other = after.get(name)
        if other is None:
            found.append(f"the module {name} is gone")
            continue
        if other.training != module.training:
            found.append(f"{name or 'the model'} is in {'training' if other.training else 'evaluation'} mode")
        if any(len(getattr(other, hooks)) != len(getattr(module, hooks)) for hooks in _HOOKS):
            found.append(f"{name or 'the model'} has lost or gained hooks")
        if isinstance(module, nn.Dropout) and getattr(other, "p", None) != module.p:
            found.append(f"{name} drops {getattr(other, 'p', None)}, was {module.p}")
        eps = getattr(module, "eps", getattr(module, "variance_epsilon", None))
        if eps is not None and eps != getattr(other, "eps", getattr(other, "variance_epsilon", None)):
            found.append(f"{name} has another eps")
    return found
