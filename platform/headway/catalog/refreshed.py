"""Price snapshots that the user fetched or imported: kept whole by hash, the current one swapped in at once.

HOME/prices/snapshots/SHA256.json     every snapshot that ever was current: receipts name them
HOME/prices/current                   the hash of the one in use
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from headway.catalog.aws_fetch import Fetched
from headway.catalog.guard import Refused
from headway.catalog.table import Change
from headway.catalog.types import InstanceType, ListedPrice
from headway.errors import DataError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Section:
    """Prices of one kind in one region (or one imported file) and when they were fetched (UTC µs).

    `machines` are hardware that the package does not know, each with its provider.
    """

    name: str
    fetched_at: int
    source: str
    prices: tuple[ListedPrice, ...]
    machines: tuple[tuple[str, InstanceType], ...] = ()


@dataclass(frozen=True, slots=True)
class PriceSnapshot:
    """All sections by name; the hash is that of its bytes."""

    sections: Mapping[str, Section]

    @property
    def body(self) -> bytes:
        """The file's bytes; the same prices give the same bytes."""
        data = {
            "format": FORMAT,
            "sections": {name: asdict(self.sections[name]) for name in sorted(self.sections)},
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str).encode()

    @property
    def sha256(self) -> str:
        """The hash under which it is kept."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def prices(self) -> tuple[ListedPrice, ...]:
        """All prices of all sections."""
        return tuple(price for section in self.sections.values() for price in section.prices)

    @property
    def fetched_at(self) -> int | None:
        """When its newest section was fetched; None of an empty one."""
        return max((section.fetched_at for section in self.sections.values()), default=None)

    @property
    def machines(self) -> dict[tuple[str, str], InstanceType]:
        """Hardware by provider and name."""
        found = (item for section in self.sections.values() for item in section.machines)
        return {(provider, machine.name): machine for provider, machine in found}

    def with_sections(self, new: Mapping[str, Section]) -> PriceSnapshot:
        """This snapshot with some sections replaced; what is not replaced stays as old as it is."""
        return PriceSnapshot({**self.sections, **new})


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did: sections taken over, prices refused by the guard, answers that failed."""

    sha256: str | None
    taken: tuple[Section, ...]
    refused: tuple[Refused, ...]
    failed: tuple[Fetched, ...]
    skipped: int
    changes: tuple[Change, ...]


def _folder(home: Path) -> Path:
    return home / "prices"


def current(home: Path) -> PriceSnapshot:
    """The snapshot in use; empty where none was fetched.

    Raises:
        DataError: its file is gone or damaged: prices are never silently those of another day.
    """
    pointer = _folder(home) / "current"
    if not pointer.is_file():
        return PriceSnapshot({})
    return load(home, pointer.read_text(encoding="utf-8").strip())


def load(home: Path, sha256: str) -> PriceSnapshot:
    """A kept snapshot by its hash.

    Raises:
        DataError: there is none, or its bytes have another hash.
    """
    path = _folder(home) / "snapshots" / f"{sha256}.json"
    try:
        body = path.read_bytes()
    except OSError as problem:
        raise DataError("refresh.gone", path=path, problem=problem.strerror) from None
    if hashlib.sha256(body).hexdigest() != sha256:
        raise DataError("refresh.damaged", path=path)
    data = cast("dict[str, Any]", json.loads(body))
    sections = {
        name: Section(
            name,
            int(raw["fetched_at"]),
            str(raw["source"]),
            tuple(ListedPrice(**price) for price in raw["prices"]),
            tuple((provider, _machine(machine)) for provider, machine in raw["machines"]),
        )
        for name, raw in cast("dict[str, dict[str, Any]]", data["sections"]).items()
    }
    return PriceSnapshot(sections)


def _machine(raw: dict[str, Any]) -> InstanceType:
    values: dict[str, Any] = {**raw, "accelerator_count": Decimal(raw["accelerator_count"])}
    return InstanceType(**values)


def kept(home: Path) -> list[str]:
    """The hashes of all kept snapshots, oldest first."""
    folder = _folder(home) / "snapshots"
    paths = sorted(folder.glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return [path.stem for path in paths]


def keep(home: Path, snapshot: PriceSnapshot) -> str:
    """Keep a snapshot and make it the current one, at once or not at all; gives its hash."""
    folder = _folder(home) / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    sha256 = snapshot.sha256
    path = folder / f"{sha256}.json"
    if not path.is_file():
        _write(path, snapshot.body)
    _write(_folder(home) / "current", f"{sha256}\n".encode())
    return sha256


def _write(path: Path, body: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    Path(file.name).replace(path)


def seen(prices: tuple[ListedPrice, ...], now: int) -> tuple[ListedPrice, ...]:
    """Fetched prices, marked as seen now."""
    return tuple(replace(price, last_seen=now) for price in prices)
