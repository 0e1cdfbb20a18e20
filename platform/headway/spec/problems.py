"""What is wrong with a file that a user wrote, and where: every problem at once, each with its position."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from headway.errors import SpecError
from headway.messages import find, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KeyPath = tuple[str | int, ...]

SHOWN_CHARACTERS = 60
SHOWN_PROBLEMS = 50

_PLAIN_KEY = re.compile(r"[\w-]{1,60}")


def show(value: object) -> str:
    """A value as a message may print it: text in double quotes, shortened, control characters escaped."""
    if isinstance(value, dict):
        return text("spec.a_mapping")
    if isinstance(value, list | tuple):
        return text("spec.a_list")
    if isinstance(value, bool | str) or value is None:
        whole = json.dumps(value, ensure_ascii=False)
    else:
        whole = str(value)
    # Other invisible characters (C1 controls, right-to-left marks) could redraw the terminal's line.
    safe = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in whole[: SHOWN_CHARACTERS * 2])
    return safe if len(safe) <= SHOWN_CHARACTERS else f"{safe[: SHOWN_CHARACTERS - 1]}…"


def dotted(path: KeyPath) -> str:
    """A path as people write it.

    >>> dotted(("sites", 0, "pools", 1, "name"))
    'sites[0].pools[1].name'
    """
    written = ""
    for part in path:
        if isinstance(part, int):
            written += f"[{part}]"
        else:
            name = part if _PLAIN_KEY.fullmatch(part) else show(part)
            written += f".{name}" if written else name
    return written


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in one place; line 0 means the whole file."""

    file: str
    line: int
    column: int
    path: KeyPath
    message: str
    values: Mapping[str, object] = field(default_factory=lambda: cast("dict[str, object]", {}), hash=False)

    @property
    def where(self) -> str:
        """`file:line:column`, or the file alone where no line is meant."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    @property
    def hint(self) -> str | None:
        """What to write instead, or None where the text itself already says it."""
        return find(f"hint.{self.message}", **self.values)

    @property
    def text(self) -> str:
        """What is wrong, then what to write instead in parentheses."""
        path = dotted(self.path)
        said = text(self.message, **self.values)
        remedy = f" ({self.hint})" if self.hint else ""
        return f"{path}: {said}{remedy}" if path else f"{said}{remedy}"

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Sort key: as the file reads, from top to bottom."""
        return (self.file, self.line, self.column, dotted(self.path), self.message)


class SpecProblems(SpecError):  # noqa: N818 - it is many problems, which the name says
    """Every problem of a file, in the order in which the file reads.

    Args:
        problems: one or more.
    """

    code: ClassVar[str] = "E-SPEC-03"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.order))
        super().__init__("spec.problems", count=len(self.problems))

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[object, ...]:
        return SpecProblems, (self.problems,)

    def render(self) -> str:
        """One aligned line for each problem, then how many they are and the error's code."""
        shown = self.problems[:SHOWN_PROBLEMS]
        width = max((len(problem.where) for problem in shown), default=0)
        lines = [f"{problem.where:<{width}}  {problem.text}" for problem in shown]
        count = len(self.problems)
        if count > len(shown):
            lines.append(text("spec.more_problems", count=count - len(shown)))
        total = text("spec.one_problem" if count == 1 else "spec.problems", count=count)
        lines.append(f"{total}  [{self.code}]")
        return "\n".join(lines)
