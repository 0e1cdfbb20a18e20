"""Price snapshots that the user fetched or imported: kept whole by hash, the current one swapped in at once.

HOME/prices/snapshots/SHA256.json     every snapshot that ever was current: receipts name them
HOME/prices/current                   the hash of the one in use
"""

from __future__ import annotations

import errno
import gc
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from headway.catalog.aws_fetch import Fetched
from headway.catalog.guard import Refused
from headway.catalog.table import Change
from headway.catalog.types import InstanceType, ListedPrice
from headway.errors import DataError, UserError
from headway.messages import text

FORMAT = 2  # 1 named the columns in every row
IMPORTED = "import/"
_HASH = re.compile(r"[0-9a-f]{64}")
_PRICE = tuple(one.name for one in fields(ListedPrice))
_MACHINE = tuple(one.name for one in fields(InstanceType))
_COLUMNS = {"prices": _PRICE, "machines": ("provider", *_MACHINE)}
_PRICE_CELLS, _MACHINE_CELLS = attrgetter(*_PRICE), attrgetter(*_MACHINE)
_COUNT = _MACHINE.index("accelerator_count")


@dataclass(frozen=True, slots=True)
class Section:
    """Prices of one kind in one region (or one imported file) and when they were fetched (UTC µs).

    `machines` are hardware that the package does not know, each with its provider. `file` is the path of what
    was imported, as it was given and safe to print, and `digest` the hash of its bytes.
    """

    name: str
    fetched_at: int
    source: str
    prices: tuple[ListedPrice, ...]
    machines: tuple[tuple[str, InstanceType], ...] = ()
    file: str = ""
    digest: str = ""

    @property
    def imported(self) -> bool:
        """Whether a person stated these prices: they are no news of AWS's."""
        return self.name.startswith(IMPORTED)

    @property
    def label(self) -> str:
        """The name by which a person knows it."""
        return self.name.removeprefix(IMPORTED)


@dataclass(frozen=True)
class PriceSnapshot:
    """All sections by name; the hash is that of its bytes, `kept` those that it was loaded from."""

    sections: Mapping[str, Section]
    kept: bytes | None = field(default=None, compare=False, repr=False)

    @cached_property
    def body(self) -> bytes:
        """The file's bytes; the same prices give the same bytes."""
        if self.kept is not None:
            return self.kept
        data = {
            "format": FORMAT,
            "columns": {name: list(columns) for name, columns in _COLUMNS.items()},
            "sections": {name: _plain(self.sections[name]) for name in sorted(self.sections)},
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str).encode()

    @cached_property
    def sha256(self) -> str:
        """The hash under which it is kept."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def fetched(self) -> tuple[ListedPrice, ...]:
        """All prices that a refresh brought."""
        return tuple(
            one for section in self.sections.values() if not section.imported for one in section.prices
        )

    @property
    def imports(self) -> tuple[Section, ...]:
        """What was imported, the oldest import first."""
        found = (section for section in self.sections.values() if section.imported)
        return tuple(sorted(found, key=lambda section: (section.fetched_at, section.name)))

    @property
    def fetched_at(self) -> int | None:
        """When prices were last fetched; None where none were: an import is not asked how old AWS's are."""
        times = (one.fetched_at for one in self.sections.values() if one.prices and not one.imported)
        return max(times, default=None)

    @property
    def machines(self) -> dict[tuple[str, str], InstanceType]:
        """Hardware by provider and name; what was stated last counts."""
        sections = sorted(self.sections.values(), key=lambda section: (section.fetched_at, section.name))
        found = (item for section in sections for item in section.machines)
        return {(provider, machine.name): machine for provider, machine in found}

    def with_sections(self, new: Mapping[str, Section]) -> PriceSnapshot:
        """This snapshot with some sections replaced; what is not replaced stays as old as it is."""
        return PriceSnapshot({**self.sections, **new})

    def without(self, name: str) -> PriceSnapshot:
        """This snapshot without one section."""
        return PriceSnapshot({key: section for key, section in self.sections.items() if key != name})


def _plain(section: Section) -> dict[str, Any]:
    """A section as JSON takes it, a price or machine a row: of names in each, reading takes seconds more."""
    return {
        **{name: getattr(section, name) for name in section.__slots__},
        "prices": [_PRICE_CELLS(price) for price in section.prices],
        "machines": [(provider, *_MACHINE_CELLS(machine)) for provider, machine in section.machines],
    }


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did: sections taken over, prices refused by the guard, answers that failed.

    `sha256` is the hash under which the snapshot is kept, `prices_sha256` the one that plans and receipts
    show: of the package's prices with the snapshot over them. `aside` tells of a damaged one, not used.
    """

    sha256: str | None
    prices_sha256: str
    taken: tuple[Section, ...]
    refused: tuple[Refused, ...]
    failed: tuple[Fetched, ...]
    skipped: int
    changes: tuple[Change, ...]
    aside: DataError | None = None


def _folder(home: Path) -> Path:
    return home / "prices"


def current(home: Path) -> PriceSnapshot:
    """The snapshot in use; empty where none was fetched.

    Raises:
        DataError: its file is gone or damaged: prices are never silently those of another day.
    """
    pointer = _folder(home) / "current"
    try:
        named = pointer.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return PriceSnapshot({})
    except OSError as problem:
        raise DataError("refresh.bad_pointer", path=pointer, problem=problem.strerror) from None
    sha256 = named.decode("ascii", errors="replace").strip()
    if _HASH.fullmatch(sha256) is None:
        said = text("refresh.pointer_empty" if not sha256 else "refresh.pointer_no_hash")
        raise DataError("refresh.bad_pointer", path=pointer, problem=said)
    return load(home, sha256)


def usable(home: Path) -> tuple[PriceSnapshot, DataError | None]:
    """The snapshot to go on from; where it is damaged an empty one, and what is wrong with the other.

    For commands that put another one in its place: they must work then most of all.
    """
    try:
        return current(home), None
    except DataError as problem:
        return PriceSnapshot({}), problem


def load(home: Path, sha256: str) -> PriceSnapshot:
    """A kept snapshot by its hash.

    Raises:
        DataError: there is none, its bytes have another hash, or it is not laid out as this version reads it.
    """
    path = _folder(home) / "snapshots" / f"{sha256}.json"
    try:
        body = path.read_bytes()
    except OSError as problem:
        raise DataError("refresh.gone", path=path, problem=problem.strerror) from None
    if hashlib.sha256(body).hexdigest() != sha256:
        raise DataError("refresh.damaged", path=path)
    try:
        with _no_collection():
            return PriceSnapshot(_sections(json.loads(body)), body)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        raise DataError("refresh.other_layout", path=path) from None


@contextmanager
def _no_collection() -> Generator[None]:
    """Rows in their thousands, none of them in a cycle: the collector would walk them all time and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _sections(data: dict[str, Any]) -> dict[str, Section]:
    if data["format"] not in (1, FORMAT):
        raise ValueError(data["format"])
    for name, columns in data.get("columns", {}).items():
        if tuple(columns) != _COLUMNS[name][: len(columns)]:  # columns are only ever added at the end
            raise ValueError(name)
    return {
        name: Section(
            name,
            int(raw["fetched_at"]),
            str(raw["source"]),
            tuple(map(_price, raw["prices"])),
            tuple(map(_machine, raw["machines"])),
            str(raw.get("file", "")),
            str(raw.get("digest", "")),
        )
        for name, raw in cast("dict[str, dict[str, Any]]", data["sections"]).items()
    }


def _price(row: dict[str, Any] | list[Any]) -> ListedPrice:
    return ListedPrice(**row) if isinstance(row, dict) else ListedPrice(*row)


def _machine(row: list[Any]) -> tuple[str, InstanceType]:
    provider, *cells = row
    if isinstance(cells[0], dict):
        cells = list(_MACHINE_CELLS(SimpleNamespace(**cells[0])))
    cells[_COUNT] = Decimal(cells[_COUNT])
    return provider, InstanceType(*cells)


def kept(home: Path) -> list[str]:
    """The hashes of all kept snapshots, oldest first."""
    folder = _folder(home) / "snapshots"
    paths = sorted(folder.glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return [path.stem for path in paths]


def kept_over(home: Path, packaged: bytes, start: str) -> list[str]:
    """The kept snapshots whose hash over the package's prices, the one that plans show, starts so."""
    under = hashlib.sha256(packaged)
    found: list[str] = []
    for sha256 in kept(home):
        whole = under.copy()
        whole.update((_folder(home) / "snapshots" / f"{sha256}.json").read_bytes())
        if whole.hexdigest().startswith(start):
            found.append(sha256)
    return found


def keep(home: Path, snapshot: PriceSnapshot) -> str:
    """Keep a snapshot and make it the current one, at once or not at all; gives its hash.

    Raises:
        UserError: nothing can be written there.
    """
    folder = _folder(home) / "snapshots"
    sha256 = snapshot.sha256
    path = folder / f"{sha256}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.read_bytes() != snapshot.body:
            path.replace(path.with_suffix(".json.damaged"))
        if not path.is_file():
            _write(path, snapshot.body)
        _write(_folder(home) / "current", f"{sha256}\n".encode())
    except OSError as problem:
        if problem.errno == errno.ENOSPC:
            raise
        said = problem.strerror or problem
        raise UserError("refresh.unwritable", path=problem.filename or folder, problem=said) from None
    return sha256


def _write(path: Path, body: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def seen(prices: tuple[ListedPrice, ...], now: int) -> tuple[ListedPrice, ...]:
    """Fetched prices, marked as seen now."""
    return tuple(replace(price, last_seen=now) for price in prices)
