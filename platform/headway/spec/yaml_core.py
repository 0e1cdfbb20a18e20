"""The YAML 1.2 core schema on top of PyYAML's parser, which by itself reads YAML 1.1.

In 1.1 `40e6` is text, `12:30:00` is 45000, `no` is false and `2026-01-01` a date; here the first is a
number and the others are text. A whole number with a leading zero (`0777`) stays text too: 1.1 reads
511, 1.2 reads 777, and whoever wrote it meant one of them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from yaml.composer import Composer
from yaml.events import AliasEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from headway.spec.bounds import MAX_ALIASES, MAX_DEPTH, MAX_DIGITS, MAX_NODES
from headway.spec.problems import show

if TYPE_CHECKING:
    from yaml.error import Mark
    from yaml.nodes import Node, ScalarNode

_PREFIX: Final = "tag:yaml.org,2002:"
NULL, BOOL, INT, FLOAT, STR, SEQ, MAP = (
    _PREFIX + name for name in ("null", "bool", "int", "float", "str", "seq", "map")
)

_PATTERNS: Final[dict[str, re.Pattern[str]]] = {
    NULL: re.compile(r"^(?:~|null|Null|NULL|)$"),
    BOOL: re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"),
    INT: re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)$", re.ASCII),
    FLOAT: re.compile(
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        re.ASCII,
    ),
}


class RefusedError(Exception):
    """What is readable as YAML but not accepted; a position and a message id."""

    def __init__(self, message: str, mark: Mark | None, **values: object) -> None:
        super().__init__(message)
        self.message, self.mark, self.values = message, mark, values


class CoreResolver(BaseResolver):
    """Gives a plain scalar its YAML 1.2 core type."""


for _tag, _pattern in _PATTERNS.items():
    CoreResolver.add_implicit_resolver(_tag, _pattern, None)


class CoreComposer(Reader, Scanner, Parser, Composer, CoreResolver):
    """Text to nodes, within bounds that hold while it reads, so that no file can exhaust memory.

    The pure-Python parser is used on purpose: libyaml places some errors and empty values elsewhere.
    """

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        CoreResolver.__init__(self)
        self.nodes = self.depth = self.aliases = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """One node, counted; the parser's events are pulled as needed, so refusal comes early."""
        mark = self.peek_event().start_mark
        self.aliases += self.check_event(AliasEvent)
        self.nodes += 1
        if self.aliases > MAX_ALIASES:
            raise RefusedError("spec.yaml_aliases", mark, limit=MAX_ALIASES)
        if self.nodes > MAX_NODES:
            raise RefusedError("spec.yaml_nodes", mark, limit=f"{MAX_NODES:,}")
        if self.depth >= MAX_DEPTH:
            raise RefusedError("spec.yaml_depth", mark, limit=MAX_DEPTH)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _joined(value: str, node: ScalarNode) -> str:
    """The text with the two escapes that JSON writes for one rare character joined into that character."""
    if value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value):
        return value
    try:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise RefusedError("spec.yaml_escape", node.start_mark) from None


def _shown(tag: str) -> str:
    return show(tag.removeprefix(_PREFIX))


def scalar(node: ScalarNode) -> str | int | float | bool | None:
    """The value of a scalar node; raises RefusedError on other tags, on NaN, infinity and endless numbers."""
    tag, value = str(node.tag), str(node.value)
    if tag == STR:
        return _joined(value, node)
    pattern = _PATTERNS.get(tag)
    if pattern is None:
        raise RefusedError("spec.yaml_tag", node.start_mark, tag=_shown(tag))
    if pattern.match(value) is None:
        raise RefusedError("spec.yaml_tag_value", node.start_mark, tag=_shown(tag), value=show(value))
    if tag == NULL:
        return None
    if tag == BOOL:
        return value.lower() == "true"
    if len(value) > MAX_DIGITS:
        raise RefusedError("spec.yaml_digits", node.start_mark, limit=MAX_DIGITS)
    if tag == INT:
        return int(value, 0)
    number = math.nan if value.lower().endswith((".inf", ".nan")) else float(value)
    if not math.isfinite(number):
        raise RefusedError("spec.yaml_not_finite", node.start_mark, value=value)
    return number
