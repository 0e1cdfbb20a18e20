"""Where each key and each value of a file stands, so that any room can point at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from headway.spec.problems import KeyPath, Problem


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file, counted from 1; line 0 means no line in particular."""

    file: str
    line: int
    column: int


@dataclass(slots=True)
class Positions:
    """Where each key and each value of a file stands, by its path."""

    file: str
    keys: dict[KeyPath, Position] = field(default_factory=lambda: cast("dict[KeyPath, Position]", {}))
    values: dict[KeyPath, Position] = field(default_factory=lambda: cast("dict[KeyPath, Position]", {}))

    def value(self, path: KeyPath) -> Position:
        """Where the value stands; for a path that the file does not have, its nearest parent's key."""
        found = self.values.get(path)
        return found if found is not None else self.key(path[:-1])

    def key(self, path: KeyPath) -> Position:
        """Where the key stands (for a list's item, the item), or its nearest parent's."""
        while path:
            found = self.keys.get(path) or self.values.get(path)
            if found is not None:
                return found
            path = path[:-1]
        return self.values.get((), Position(self.file, 0, 0))

    def problem(self, path: KeyPath, message: str, *, at_key: bool = False, **values: object) -> Problem:
        """A problem at a path: how another room reports what only it can find."""
        place = self.key(path) if at_key else self.value(path)
        return Problem(place.file, place.line, place.column, path, message, values)
