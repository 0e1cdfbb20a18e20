"""Text that a person reads, looked up by message id.

One TOML file per language in `locale/`; a language is added by adding its file, without touching code.
English is complete (a test keeps it so); another language falls back to English message by message.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib.resources import files
from typing import cast

FALLBACK = "en"


@cache
def languages() -> tuple[str, ...]:
    """The languages that ship, by the two-letter name of their file."""
    folder = files("headway").joinpath("locale")
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml")))


@cache
def catalogue(language: str) -> dict[str, str]:
    """All messages of one language, flattened to dotted ids; empty for a language that does not ship."""
    resource = files("headway").joinpath("locale", f"{language}.toml")
    if not resource.is_file():
        return {}
    return dict(_flatten("", tomllib.loads(resource.read_text(encoding="utf-8"))))


def _flatten(prefix: str, table: dict[str, object]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in table.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            rows.extend(_flatten(name, cast("dict[str, object]", value)))
        else:
            rows.append((name, str(value)))
    return rows


def language() -> str:
    """The command line's language: HEADWAY_LANG, else English.

    The locale is not asked: only what managers read is complete in other languages, and half a sentence in
    each would serve nobody. The dashboard has a switch of its own.
    """
    name = os.environ.get("HEADWAY_LANG", "")[:2].lower()
    return name if name in languages() else FALLBACK


def find(message: str, /, **values: object) -> str | None:
    """The message in the reader's language, its placeholders filled; None where the catalogue lacks it."""
    return find_in(language(), message, **values)


def find_in(tongue: str, message: str, /, **values: object) -> str | None:
    """The message in a given language, else in English; None where the catalogue lacks it."""
    template = catalogue(tongue).get(message) or catalogue(FALLBACK).get(message)
    return None if template is None else template.format_map(_Visible(values))


def text_in(tongue: str, message: str, /, **values: object) -> str:
    """The message in a given language, whatever the process speaks; an unknown id is shown as it is."""
    found = find_in(tongue, message, **values)
    return message if found is None else found


def text(message: str, /, **values: object) -> str:
    """The message in the reader's language; an id that the catalogue lacks is shown as it is.

    Args:
        message: dotted id, such as `spec.unknown_key`.
        values: the placeholders' values; one that is missing stays visible in braces.
    """
    found = find(message, **values)
    if found is not None:
        return found
    return f"{message} {values}" if values else message


class _Visible(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "{" + key + "}"
