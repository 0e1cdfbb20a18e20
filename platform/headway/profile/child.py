"""`python -m headway.profile.child RESULT`: trace what a request on stdin names, in the job's directory.

The only process that imports user code for planning. What that code prints goes to stderr; the answer is a
JSON file: a profile, or what went wrong with the place in the user's own file.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from headway.errors import UserError
from headway.profile.answering import answer
from headway.profile.traced_types import TraceRequest, request_of


def profiled(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The profile of a request."""
    request = request_of(asked)
    factory = resolve(request)  # what is wrong with a name is told before torch is loaded
    from headway.profile.whole import traced_profile

    return {"profile": traced_profile(request, factory).to_data()}


def resolve(request: TraceRequest) -> Callable[..., Any] | None:
    """The user's factory; None where a configuration's name is given.

    Raises:
        UserError: the module or the name in it does not exist.
    """
    if not request.factory:
        return None
    module_name, _colon, name = request.factory.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as problem:
        if problem.name is not None and not module_name.startswith(problem.name):
            raise
        raise UserError("profile.no_module", module=module_name, folder=Path.cwd()) from None
    found = getattr(module, name, None)
    if not callable(found):
        raise UserError("profile.no_factory", module=module_name, name=name, file=module.__file__)
    return cast("Callable[..., Any]", found)


def takes_layers(factory: Callable[..., Any]) -> bool:
    """Whether a factory makes models of any depth."""
    return "layers" in inspect.signature(factory).parameters


def whole_depth(factory: Callable[..., Any]) -> int | None:
    """The depth of a factory's whole model, its default; None where it makes one model only."""
    given = inspect.signature(factory).parameters.get("layers")
    return given.default if given is not None and type(given.default) is int else None


def checked(made: object, name: str) -> tuple[Any, Any]:
    """The model and the batch that a factory returned.

    Raises:
        UserError: it returned anything else.
    """
    from torch import nn

    pair = list(cast("tuple[object, ...]", made)) if isinstance(made, tuple) else [made]
    if len(pair) == 2:
        model, batch = pair
        if isinstance(model, nn.Module) and (callable(batch) or isinstance(batch, Mapping)):
            return model, batch
    raise UserError("profile.bad_return", name=name, kind=", ".join(type(item).__name__ for item in pair))


if __name__ == "__main__":
    answer(profiled)
