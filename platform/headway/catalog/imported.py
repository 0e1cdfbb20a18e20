"""PURE. Prices of other clouds from a CSV file, with the hardware that a plan needs to know of.

provider,region,instance,capacity,price_per_hour,currency,accelerator,accelerators,vcpus,memory_gib,source
lambda,us-west-1,gpu_8x_h100,on-demand,23.92,USD,h100-sxm,8,208,1800,quote of 2026-11-02
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal

from headway.catalog.tables import microseconds
from headway.catalog.types import Accelerator, InstanceType, ListedPrice
from headway.errors import UserError
from headway.messages import text
from headway.spec.problems import SHOWN_PROBLEMS, show

NEEDED = ("provider", "region", "instance", "price_per_hour", "currency")
MICROSECONDS_PER_DAY = 86_400_000_000
KNOWN = (*NEEDED, "capacity", "accelerator", "accelerators", "vcpus", "memory_gib", "source", "from")
MAX_ROWS, MAX_BYTES = 100_000, 32 * 2**20
_CAPACITIES = ("on-demand", "spot", "reserved", "savings-plan", "block")
_CHARACTERS = {"source": 500}
_USUAL_CHARACTERS = 100
_SEPARATORS = {";": ";", "\t": "TAB", "|": "|"}
# Column: least, most, whether only whole ones are meant.
_NUMBERS = {
    "price_per_hour": (Decimal("0.000001"), Decimal(1_000_000), False),
    "accelerators": (Decimal(1), Decimal(10_000), True),
    "vcpus": (Decimal(1), Decimal(100_000), True),
    "memory_gib": (Decimal("0.01"), Decimal(1_000_000), False),
}
_NUMBER = re.compile(r"[-+]?(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][-+]?\d{1,2})?", re.ASCII)
_DAY = re.compile(r"(19[7-9]|2\d\d)\d-\d{2}-\d{2}", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file says: prices, and the machines that they are of, by provider and name."""

    prices: tuple[ListedPrice, ...]
    machines: Mapping[tuple[str, str], InstanceType]


def visible(value: object) -> str:
    r"""A text such as a file's name, with what would redraw a terminal's line escaped.

    >>> visible("a\nb")
    'a\\u000ab'
    """
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in str(value))


def parse_prices(written: str, file: str, now: int, accelerators: Mapping[str, Accelerator]) -> Imported:
    """Read a whole file; every fault in it is named at once, and then nothing is taken.

    `file` is what messages call it, `accelerators` are those of the catalogue.

    Raises:
        UserError: with each wrong line.
    """
    found = _Reading(file, now, accelerators)
    lines = _cells(written, found)
    heads = next(lines, (1, []))[1]
    found.problems += [f"{file}:1  {fault}" for fault in _faulty_heads(heads)]
    if not found.problems:
        for line, cells in lines:
            found.take(line, heads, cells)
            if found.rows > MAX_ROWS:
                found.told(line, text("import.too_many", limit=f"{MAX_ROWS:,}"))
                break
        if not found.rows and not found.problems:
            found.told(1, text("import.no_rows"))
    if found.problems:
        raise refusal(found.problems)
    return Imported(tuple(found.prices.values()), found.machines)


def refusal(problems: Sequence[str]) -> UserError:
    """The error that names what is wrong with a file, a line each."""
    shown = list(problems[:SHOWN_PROBLEMS])
    if len(problems) > len(shown):
        shown.append(text("spec.more_problems", count=len(problems) - len(shown)))
    return UserError("refresh.bad_file", count=len(problems), problems="\n".join(shown))


def _cells(written: str, found: _Reading) -> Iterator[tuple[int, list[str]]]:
    """The rows that say anything, each with the line on which it starts."""
    reader = csv.reader(io.StringIO(written, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            cells = [cell.strip(" \t") for cell in row]
            if any(cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as problem:
        found.told(line, text("import.not_csv", problem=problem))


@dataclass
class _Reading:
    """What was read so far, and what is wrong with it."""

    file: str
    now: int
    accelerators: Mapping[str, Accelerator]
    problems: list[str] = field(default_factory=list[str])
    prices: dict[tuple[str, ...], ListedPrice] = field(default_factory=dict[tuple[str, ...], ListedPrice])
    machines: dict[tuple[str, str], InstanceType] = field(default_factory=dict[tuple[str, str], InstanceType])
    lines: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    rows: int = 0

    def told(self, line: int, fault: str) -> None:
        """Note a fault of a line."""
        self.problems.append(f"{self.file}:{line}  {fault}")

    def take(self, line: int, heads: Sequence[str], cells: Sequence[str]) -> None:
        """One row: a price and its machine, or what is wrong with it."""
        self.rows += 1
        row = dict.fromkeys(heads, "") | dict(zip(heads, cells, strict=False))
        faults = list(_faults(row, self.accelerators))
        if any(cells[len(heads) :]):
            faults.append(text("import.more_cells", cells=len(cells), columns=len(heads)))
        if not faults:
            price, machine = _row(row, self.file, self.now)
            faults += self._clashes(line, price, machine)
        for fault in faults:
            self.told(line, fault)

    def _clashes(self, line: int, price: ListedPrice, machine: InstanceType) -> Iterator[str]:
        key = (price.provider, price.instance)
        known = self.machines.setdefault(key, machine)
        if known is not machine and replace(known, source="") != replace(machine, source=""):
            yield text("import.other_hardware", line=self.lines[key])
        if price.place in self.prices:
            yield text("import.place_twice", line=self.lines[price.place])
        self.prices.setdefault(price.place, price)
        self.lines.setdefault(key, line)
        self.lines.setdefault(price.place, line)


def _faulty_heads(heads: Sequence[str]) -> Iterator[str]:
    if not heads:
        yield text("import.empty_file")
        return
    mark = next((mark for mark in _SEPARATORS if len(heads) == 1 and mark in heads[0]), None)
    if mark is not None:
        yield text("import.separator", mark=_SEPARATORS[mark])
        return
    for name in NEEDED:
        if name not in heads:
            yield text("import.no_column", column=name)
    for place, name in enumerate(heads, start=1):
        near = difflib.get_close_matches(name.lower(), KNOWN, n=1)
        if not name:
            yield text("import.nameless_column", place=place)
        elif name not in KNOWN and near:
            yield text("import.unknown_column_near", column=show(name), near=near[0])
        elif name not in KNOWN:
            yield text("import.unknown_column", column=show(name))
        elif name in heads[: place - 1]:
            yield text("import.column_twice", column=name)


def _faults(row: Mapping[str, str], accelerators: Mapping[str, Accelerator]) -> Iterator[str]:
    """What is wrong with a row: one fault a cell; where each is right, what they are together."""
    alone = [
        f"{name}: {fault}" for name, value in row.items() if (fault := _fault(name, value, accelerators))
    ]
    yield from alone or _together(row, accelerators)


def _fault(name: str, value: str, accelerators: Mapping[str, Accelerator]) -> str | None:
    if not value:
        return text("import.empty") if name in NEEDED else None
    if not value.isprintable():
        return text("spec.not_printable", value=show(value))
    longest = _CHARACTERS.get(name, _USUAL_CHARACTERS)
    if len(value) > longest:
        return text("import.too_long", count=len(value), limit=longest)
    return _faulty_number(name, value) if name in _NUMBERS else _faulty_word(name, value, accelerators)


def _faulty_number(name: str, value: str) -> str | None:
    least, most, whole = _NUMBERS[name]
    if _NUMBER.fullmatch(value) is None:
        return text("import.comma" if "," in value else "import.not_number", value=show(value))
    number = Decimal(value)
    if not least <= number <= most:
        return text("import.beyond", value=show(value), least=f"{least:,f}", most=f"{most:,f}")
    if whole and number != number.to_integral_value():
        return text("import.not_whole", value=show(value))
    return None


def _faulty_word(name: str, value: str, accelerators: Mapping[str, Accelerator]) -> str | None:
    if name == "provider" and value.lower() == "aws":
        return text("import.aws")
    if name == "currency" and _CURRENCY.fullmatch(value) is None:
        return text("import.not_currency", value=show(value))
    if name == "capacity" and value not in _CAPACITIES:
        return text("import.not_capacity", value=show(value), known=", ".join(_CAPACITIES))
    if name == "accelerator" and value not in accelerators:
        near = difflib.get_close_matches(value.lower(), accelerators, n=3)
        if near:
            return text("import.no_accelerator_near", value=show(value), near=", ".join(near))
        return text("import.no_accelerator", value=show(value))
    return text("import.not_day", value=show(value)) if name == "from" and not _is_day(value) else None


def _is_day(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return _DAY.fullmatch(value) is not None


def _together(row: Mapping[str, str], accelerators: Mapping[str, Accelerator]) -> Iterator[str]:
    key = row.get("accelerator")
    if key and not row.get("accelerators"):
        yield text("import.how_many")
    if row.get("accelerators") and not key:
        yield text("import.which")
        return
    # What is not known is not nothing: a plan would show 0 B.
    if not row.get("memory_gib") and (not key or accelerators[key].memory_bytes is None):
        yield text("import.no_memory")
    if not key and not row.get("vcpus"):
        yield text("import.no_vcpus")


def _row(row: Mapping[str, str], file: str, now: int) -> tuple[ListedPrice, InstanceType]:
    start = now - now % MICROSECONDS_PER_DAY
    if row.get("from"):
        start = microseconds(row["from"])
    source = row.get("source") or file
    price = ListedPrice(
        instance=row["instance"],
        region=row["region"],
        capacity=row.get("capacity") or "on-demand",
        currency=row["currency"],
        price_text=f"{Decimal(row['price_per_hour']):f}",
        effective_from=start,
        effective_to=None,
        last_seen=now,
        source=source,
        provider=row["provider"],
    )
    machine = InstanceType(
        name=row["instance"],
        vcpus=int(Decimal(row.get("vcpus") or 0)),
        memory_bytes=int(Decimal(row.get("memory_gib") or 0) * 2**30),
        accelerator=row.get("accelerator") or None,
        accelerator_count=Decimal(row.get("accelerators") or 0),
        network_bytes_per_second=None,
        efa=False,
        arch="",
        source=source,
        quirk="",
    )
    return price, machine
