"""Texts as YAML writes them: plain where every reader takes them for text, in quotes elsewhere."""

from __future__ import annotations

import json
from typing import cast

import yaml

from headway.spec.loader import parse_value


def written(value: str) -> str:
    """A text as a value in block style.

    It is quoted where our own reader (YAML 1.2) would read something else than this text, such as `1e3`, or
    another's (YAML 1.1) would, such as `on`.

    >>> written("dc1"), written("on"), written("1e3"), written("a: b")
    ('dc1', '"on"', '"1e3"', '"a: b"')
    """
    ours, problems = parse_value(value, "")
    plain = not problems and ours == value and value.isprintable()
    return value if plain and _elsewhere(value) == value else json.dumps(value, ensure_ascii=False)


def _elsewhere(value: str) -> object:
    try:
        return cast("object", yaml.safe_load(value))
    except (yaml.YAMLError, ValueError):
        return None
