"""Plain data to a checked spec: pydantic's findings become problems with our own texts and positions."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pydantic import ValidationError

from headway.spec.known import known_keys, meant
from headway.spec.parts import SEVERAL, Found, Part
from headway.spec.problems import KeyPath, Problem, SpecProblems, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

    from headway.spec.loader import Document

Spec = TypeVar("Spec", bound=Part)

# Pydantic's error types and our message for each; what is not here keeps pydantic's own words.
_MESSAGES: Final = {
    "string_type": "spec.not_text",
    "bool_type": "spec.not_bool",
    "model_type": "spec.not_mapping",
    "model_attributes_type": "spec.not_mapping",
    "dict_type": "spec.not_mapping",
    "tuple_type": "spec.not_list",
    "list_type": "spec.not_list",
    "too_short": "spec.too_few",
    "too_long": "spec.too_many",
    "string_too_short": "spec.text_too_short",
    "string_too_long": "spec.text_too_long",
    "greater_than_equal": "spec.too_small",
    "less_than_equal": "spec.too_large",
}
_MISSING: Final = object()
_LIMITS: Final = ("ge", "le", "min_length", "max_length")
# Below these, a key without a value is the user's own business.
_FREE: Final[tuple[KeyPath, ...]] = (("workload", "model", "config"),)


def validate(model: type[Spec], document: Document) -> Spec:
    """The checked spec.

    Raises:
        SpecProblems: with everything that is wrong with the document, what the reader found included.
    """
    problems = list(document.problems)
    unread = {problem.path for problem in problems}
    problems.extend(
        document.positions.problem(path, "spec.no_value", at_key=True)
        for path in _empty(document.data, ())
        if path not in unread
    )
    doubted = {problem.path for problem in problems}
    spec: Spec | None = None
    try:
        spec = model.model_validate(document.data)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=True):
            problems.extend(
                problem
                for problem in _problems(model, document, details)
                # What could not be read is reported once, not once more as being of the wrong kind.
                if problem.path not in doubted
            )
    if problems or spec is None:
        raise SpecProblems(_without_echoes(problems)) from None
    return spec


def _without_echoes(problems: list[Problem]) -> list[Problem]:
    """A misspelt key is one problem: that the right one is missing follows from it."""
    misspelt = {
        (*problem.path[:-1], str(problem.values["near"]))
        for problem in problems
        if problem.message == "spec.unknown_key_near"
    }
    return [one for one in problems if one.message != "spec.missing" or one.path not in misspelt]


def _empty(value: object, path: KeyPath) -> Iterator[KeyPath]:
    if path in _FREE:
        return
    if isinstance(value, dict):
        for key, below in cast("dict[str, object]", value).items():
            yield from _empty(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(cast("list[object]", value)):
            yield from _empty(below, (*path, index))
    elif value is None:
        yield path


def _path(data: object, details: ErrorDetails) -> KeyPath:
    """The finding's path in the file: pydantic's own path also names the branches of unions."""
    path: list[str | int] = []
    here: Any = data
    for part in details["loc"]:
        below: Any = _MISSING
        if isinstance(here, dict):
            below = cast("dict[str | int, object]", here).get(part, _MISSING)
        elif isinstance(here, list) and isinstance(part, int):
            below = cast("list[object]", here)[part]
        if below is not _MISSING:
            path.append(part)
            here = below
    if details["type"] == "missing":
        path.append(details["loc"][-1])
    return tuple(path)


def _problems(model: type[Part], document: Document, details: ErrorDetails) -> Iterator[Problem]:
    kind, path = details["type"], _path(document.data, details)
    context = details.get("ctx", {})
    at = document.positions.problem
    if kind == SEVERAL:
        for found in cast("tuple[Found, ...]", context["found"]):
            yield at((*path, *found.at), found.message, at_key=False, **found.values)
    elif kind == "extra_forbidden":
        yield _unknown(model, document, path)
    elif kind == "missing":
        yield at(path, "spec.missing", at_key=True)
    elif kind.startswith("spec."):
        yield at(path, kind, at_key="[key]" in details["loc"], **context)
    elif kind == "literal_error":
        yield _choice(document, path, str(context["expected"]), details["input"])
    elif kind.startswith("union_tag"):
        yield _kind(document, path, details)
    elif kind != "too_short" or len(details["input"]) < context["min_length"]:
        # Pydantic calls a list too short, too, when all of its items were refused.
        yield _plain(document, path, details)


def _kind(document: Document, path: KeyPath, details: ErrorDetails) -> Problem:
    """A site whose kind is missing or unknown, or that is no mapping at all."""
    given = cast("object", details["input"])
    if not isinstance(given, dict):
        return document.positions.problem(path, "spec.not_mapping", value=show(given))
    kind = (*path, "kind")
    if details["type"] == "union_tag_not_found":
        return document.positions.problem(kind, "spec.missing", at_key=True)
    expected = str(details.get("ctx", {})["expected_tags"])
    return _choice(document, kind, expected, cast("dict[str, object]", given)["kind"])


def _plain(document: Document, path: KeyPath, details: ErrorDetails) -> Problem:
    context = details.get("ctx", {})
    kind = details["type"]
    if isinstance(details["input"], str):
        # Of a text with checks of its own, pydantic speaks as of a list.
        kind = {"too_short": "string_too_short", "too_long": "string_too_long"}.get(kind, kind)
    message = _MESSAGES.get(kind)
    if message is None:
        return document.positions.problem(path, "spec.invalid", reason=details["msg"])
    values: dict[str, object] = {"value": show(details["input"])}
    limit = next((context[name] for name in _LIMITS if name in context), None)
    if limit is not None:
        values["limit"] = f"{limit:,}"
    return document.positions.problem(path, message, at_key="[key]" in details["loc"], **values)


def _unknown(model: type[Part], document: Document, path: KeyPath) -> Problem:
    above, key = path[:-1], str(path[-1])
    guess = meant(model, above, key, document.data)
    if guess is not None:
        return document.positions.problem(path, "spec.unknown_key_near", at_key=True, near=guess)
    keys = ", ".join(known_keys(model, above, document.data))
    return document.positions.problem(path, "spec.unknown_key", at_key=True, known=keys)


def _choice(document: Document, path: KeyPath, expected: str, given: object) -> Problem:
    if path == ("version",):
        return document.positions.problem(path, "spec.version", value=show(given))
    choices = re.findall(r"'([^']*)'", expected)
    near = get_close_matches(given.lower(), choices, n=1) if isinstance(given, str) else []
    if near:
        return document.positions.problem(path, "spec.not_choice_near", value=show(given), near=near[0])
    return document.positions.problem(path, "spec.not_choice", value=show(given), choices=", ".join(choices))
