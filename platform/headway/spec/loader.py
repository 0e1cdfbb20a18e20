"""Reads a YAML file into plain data and remembers where each key and value stood.

Later checks, here and in other rooms, point at `file:line:column` through `Positions`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from yaml.error import MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from headway.errors import NotFoundError
from headway.spec.bounds import MAX_FILE_BYTES, MAX_NODES
from headway.spec.positions import Position, Positions
from headway.spec.problems import KeyPath, Problem, SpecProblems, show
from headway.spec.yaml_core import MAP, SEQ, STR, CoreComposer, RefusedError, scalar

if TYPE_CHECKING:
    from pathlib import Path

    from yaml.error import Mark

# How PyYAML says it, and the message id under which we say it. The first that fits is taken.
_SYNTAX: Final = (
    ("'\\t' that cannot start", "spec.yaml_tab"),
    ("mapping values are not allowed", "spec.yaml_colon"),
    ("could not find expected ':'", "spec.yaml_no_colon"),
    ("expected <block end>", "spec.yaml_indent"),
    ("unexpected end of stream", "spec.yaml_quote"),
    ("expected ',' or", "spec.yaml_unclosed"),
    ("found undefined alias", "spec.yaml_alias_unknown"),
    ("found duplicate anchor", "spec.yaml_anchor_twice"),
    ("expected a single document", "spec.yaml_documents"),
)
# YAML 1.1 ends a line at these, editors do not: every later position would be wrong.
_STRAY_BREAKS: Final = "\x85\u2028\u2029"


@dataclass(slots=True)
class Document:
    """A file as read: its data, its positions, what is already wrong, and the digest of its bytes."""

    data: dict[str, object]
    positions: Positions
    problems: list[Problem]
    sha256: str


def read(path: Path) -> Document:
    """Read a file.

    Raises:
        NotFoundError: there is no such file.
        SpecProblems: it is not one mapping in readable YAML.
    """
    name = str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError("spec.no_file", path=name) from None
    except IsADirectoryError:
        raise _whole(name, "spec.is_folder") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _whole(name, "spec.unreadable", reason=reason) from None
    if len(raw) > MAX_FILE_BYTES:
        raise _whole(name, "spec.file_too_large", limit=f"{MAX_FILE_BYTES:,}")
    try:
        written = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig", errors="replace")
        line, column = _line_column(before, len(before))
        raise SpecProblems([Problem(name, line, column, (), "spec.not_utf8")]) from None
    document = parse(written, name)
    document.sha256 = hashlib.sha256(raw).hexdigest()
    return document


def _whole(name: str, message: str, **values: object) -> SpecProblems:
    return SpecProblems([Problem(name, 0, 0, (), message, values)])


def parse(written: str, name: str) -> Document:
    """Read text that must be one mapping; `name` is what positions call the file."""
    node = _compose(written, name)
    if not isinstance(node, MappingNode):
        mark = cast("Mark", node.start_mark)
        raise SpecProblems([Problem(name, mark.line + 1, mark.column + 1, (), "spec.not_a_mapping_file")])
    builder = _Builder(name)
    data = cast("dict[str, object]", builder.build(node, ()))
    digest = hashlib.sha256(written.encode("utf-8", errors="surrogatepass")).hexdigest()
    return Document(data, builder.positions, builder.problems, digest)


def parse_value(written: str, name: str) -> tuple[object, list[Problem]]:
    """Read one value, as an override on a command line gives it; problems carry no line."""
    try:
        builder = _Builder(name)
        value = builder.build(_compose(written, name), ())
    except SpecProblems as error:
        builder, value = _Builder(name), None
        builder.problems = list(error.problems)
    return value, [Problem(name, 0, 0, (), one.message, one.values) for one in builder.problems]


def _compose(written: str, name: str) -> Node:
    def refused(line: int, column: int, message: str, **values: object) -> SpecProblems:
        return SpecProblems([Problem(name, line, column, (), message, values)])

    for index, character in enumerate(written):
        if character in _STRAY_BREAKS:
            line, column = _line_column(written, index)
            raise refused(line, column, "spec.yaml_character", code=f"U+{ord(character):04X}")
    try:
        composer = CoreComposer(written)
    except ReaderError as error:
        # A decoded text gives the character itself, whatever the library's own comment says.
        line, column = _line_column(written, error.position)
        shown = error.character if isinstance(error.character, int) else ord(error.character)
        raise refused(line, column, "spec.yaml_character", code=f"U+{shown:04X}") from None
    try:
        node = composer.get_single_node()
    except MarkedYAMLError as error:
        raise refused(*_syntax(error)) from None
    except RefusedError as error:
        mark = error.mark
        place = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise refused(*place, error.message, **error.values) from None
    except (ValueError, OverflowError):
        # PyYAML makes a character of any escape's number, and a number of any version's digits.
        mark = composer.get_mark()
        raise refused(mark.line + 1, mark.column + 1, "spec.yaml_escape") from None
    if node is None:
        raise refused(0, 0, "spec.empty_file")
    return node


def _syntax(error: MarkedYAMLError) -> tuple[int, int, str]:
    said = f"{error.context or ''} {error.problem or ''}"
    message = next((ours for theirs, ours in _SYNTAX if theirs in said), "spec.yaml_syntax")
    mark = error.problem_mark or error.context_mark
    if message == "spec.yaml_quote":
        # The text's end says nothing; where the quotation began does.
        mark = error.context_mark or mark
    return (mark.line + 1, mark.column + 1, message) if mark else (0, 0, message)


def _line_column(written: str, index: int) -> tuple[int, int]:
    before = written[:index].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


class _Builder:
    """Nodes to data; goes on after a problem, so that all are found."""

    def __init__(self, name: str) -> None:
        self.positions = Positions(name)
        self.problems: list[Problem] = []
        self._built = 0
        self._open: set[int] = set()

    def build(self, node: Node, path: KeyPath) -> object:
        """The data under a node, expanded aliases included, within the bound on nodes."""
        self.positions.values[path] = self._position(node.start_mark)
        self._built += 1
        if self._built > MAX_NODES:
            self._note(node, (), "spec.yaml_nodes", limit=f"{MAX_NODES:,}")
            raise SpecProblems(self.problems)
        if id(node) in self._open:
            self._note(node, path, "spec.yaml_alias_loop")
            return None
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if node.tag not in {MAP, SEQ}:
            self._note(
                node, path, "spec.yaml_tag", tag=show(str(node.tag).removeprefix("tag:yaml.org,2002:"))
            )
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            items = cast("list[Node]", cast("SequenceNode", node).value)
            return [self.build(item, (*path, index)) for index, item in enumerate(items)]
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: ScalarNode, path: KeyPath) -> object:
        try:
            return scalar(node)
        except RefusedError as refused:
            self._note(node, path, refused.message, **refused.values)
            return None

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, object]:
        data: dict[str, object] = {}
        for key_node, value_node in cast("list[tuple[Node, Node]]", node.value):
            if not isinstance(key_node, ScalarNode) or key_node.tag != STR:
                written = key_node.value if isinstance(key_node, ScalarNode) else []
                self._note(key_node, path, "spec.key_not_text", key=show(written))
                continue
            key = str(self._scalar(key_node, path))
            below = (*path, key)
            if key == "<<":
                self._note(key_node, path, "spec.yaml_merge")
            elif key in data:
                first = self.positions.keys[below].line
                self._note(key_node, below, "spec.key_twice", line=first)
            else:
                self.positions.keys[below] = self._position(key_node.start_mark)
                data[key] = self.build(value_node, below)
        return data

    def _position(self, mark: Mark) -> Position:
        return Position(self.positions.file, mark.line + 1, mark.column + 1)

    def _note(self, node: Node, path: KeyPath, message: str, **values: object) -> None:
        place = self._position(node.start_mark)
        self.problems.append(Problem(place.file, place.line, place.column, path, message, values))
