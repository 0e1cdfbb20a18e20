"""Which keys a place in a file may have, and which of them an unknown key was meant to be."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from headway.spec.problems import KeyPath, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headway.spec.parts import Part

_Schema = dict[str, Any]

# A beginning of fewer characters fits too much by chance.
_TELLING = 3


@cache
def _schema(model: type[Part]) -> _Schema:
    return model.model_json_schema()


def _branches(root: _Schema, node: _Schema, value: object) -> Iterator[_Schema]:
    """The mappings and lists that a place may be; a site's kind rules the other kinds out."""
    if "$ref" in node:
        yield from _branches(root, root["$defs"][str(node["$ref"]).rpartition("/")[2]], value)
    for several in ("anyOf", "oneOf", "allOf"):
        for branch in node.get(several, ()):
            yield from _branches(root, branch, value)
    kind = node.get("properties", {}).get("kind", {}).get("const")
    given = cast("dict[str, object]", value).get("kind") if isinstance(value, dict) else None
    if ("properties" in node or "items" in node) and (kind is None or given is None or kind == given):
        yield node


def known_keys(model: type[Part], path: KeyPath, data: object) -> tuple[str, ...]:
    """The keys that the mapping at a path may have, in the order of the documentation."""
    root = _schema(model)
    nodes, value = list(_branches(root, root, data)), data
    for part in path:
        value = cast("Any", value)[part] if isinstance(value, dict | list) else None
        below = [
            node["items"] if isinstance(part, int) else node["properties"][part]
            for node in nodes
            if (isinstance(part, int) and "items" in node) or part in node.get("properties", {})
        ]
        nodes = [branch for node in below for branch in _branches(root, node, value)]
    return tuple(dict.fromkeys(key for node in nodes for key in node.get("properties", {})))


def all_paths(model: type[Part]) -> tuple[str, ...]:
    """The dotted path of each key that is not inside a list, parents first."""
    root = _schema(model)

    def walk(node: _Schema, above: tuple[str, ...]) -> Iterator[str]:
        for branch in _branches(root, node, None):
            for key, below in branch.get("properties", {}).items():
                yield dotted((*above, key))
                yield from walk(below, (*above, key))

    return tuple(dict.fromkeys(walk(root, ())))


def meant(model: type[Part], path: KeyPath, key: str, data: object) -> str | None:
    """What an unknown key was most likely meant to be: a neighbour, or the same key in its right place."""
    neighbours = known_keys(model, path, data)
    plain = key.lower().replace("-", "_")
    close = get_close_matches(plain, neighbours, n=1, cutoff=0.6)
    if close:
        return close[0]
    longer = [name for name in neighbours if len(plain) >= _TELLING and name.startswith(plain)]
    if len(longer) == 1:
        return longer[0]
    if any(isinstance(part, int) for part in path):
        return None
    elsewhere = [known for known in all_paths(model) if known.rpartition(".")[2] == plain]
    return elsewhere[0] if elsewhere else None
