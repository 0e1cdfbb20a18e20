"""Snapshots of prices: swapped whole, kept, and told where damaged, never in the way of new ones."""

from __future__ import annotations

import cProfile
import errno
import gc
import hashlib
import json
import shutil
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import pytest

from headway.catalog import refreshed
from headway.catalog.refreshed import PriceSnapshot, Section, current, keep, kept, load
from headway.catalog.types import InstanceType, ListedPrice
from headway.controller.pricing import import_prices, market_of, prices_of, refresh, table_of
from headway.errors import DataError, UserError
from headway.settings import Settings

NOW = 1_790_000_000_000_000
CSV = (
    "provider,region,instance,price_per_hour,currency,accelerator,accelerators\n"
    "lambda,us-west-1,gpu_8x_h100,23.92,USD,h100-sxm,8\n"
)
DAMAGED = [
    b"",
    b"\n",
    b"\xff\xfe",
    b"not a hash",
    b"../../etc/passwd",
    b"0" * 64,
    "folder",
    "gone",
    "changed",
    "foreign",
]


def listed(price: str, start: int) -> ListedPrice:
    return ListedPrice("p5", "r", "on-demand", "USD", price, start, None, 0, "s")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    (tmp_path / "a.csv").write_text(CSV)
    return tmp_path / "home"


@pytest.mark.parametrize("dying", [True, False])
def test_a_snapshot_is_swapped_whole_and_old_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dying: bool
) -> None:
    first = PriceSnapshot({"a": Section("a", 1, "s", (listed("1", 5),))})
    sha = keep(tmp_path, first)
    second = first.with_sections({"b": Section("b", 2, "s", (listed("2", 6),))})

    def dies(*_: object) -> None:
        raise OSError(errno.ENOSPC if dying else errno.EIO, "the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(refreshed.os, "fsync", dies)
        with pytest.raises(OSError if dying else UserError, match="full"):
            keep(tmp_path, second)
    assert current(tmp_path) == first
    assert [path.suffix for path in (tmp_path / "prices" / "snapshots").iterdir()] == [".json"]
    assert keep(tmp_path, second) != sha
    assert load(tmp_path, sha) == first


MACHINE = InstanceType("m", 8, 2**30, None, Decimal("0.5"), 1e9, True, "x86", "s", "q")


def test_a_snapshot_reads_back_as_it_was(tmp_path: Path) -> None:
    section = Section("a", 1, "s", (listed("1", 5),), (("aws", MACHINE),), "f", "d")
    found = load(tmp_path, keep(tmp_path, PriceSnapshot({"a": section})))
    assert found.sections == {"a": section}
    assert found.sha256 == PriceSnapshot({"a": section}).sha256


def pointed_at(home: Path, data: dict[str, object]) -> Path:
    """Put a snapshot of any layout in use, as another version may have written it."""
    body = json.dumps(data).encode()
    path = home / "prices" / "snapshots" / f"{hashlib.sha256(body).hexdigest()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    (home / "prices" / "current").write_text(path.stem)
    return path


@pytest.mark.parametrize("more", [{}, {"file": "f", "digest": "d"}])
def test_a_snapshot_of_the_first_layout_is_read_and_keeps_its_hash(home: Path, more: dict[str, str]) -> None:
    machine = {**asdict(MACHINE), "accelerator_count": "0.5"}
    raw = {"fetched_at": 1, "source": "s", "prices": [asdict(listed("1", 5))], "machines": [["aws", machine]]}
    path = pointed_at(home, {"format": 1, "sections": {"a": {**raw, **more}}})
    found = current(home)
    assert found.sections == {"a": Section("a", 1, "s", (listed("1", 5),), (("aws", MACHINE),), **more)}
    assert (found.sha256, keep(home, found)) == (path.stem, path.stem)
    assert load(home, keep(home, found.without("a"))).sections == {}


@pytest.mark.parametrize("columns", [["price_text", "instance"], ["unheard"], None, 5])
def test_columns_in_another_order_are_another_layout(home: Path, columns: object) -> None:
    prices: dict[str, object] = {"fetched_at": 1, "source": "s", "prices": [["1", "p5"]], "machines": []}
    path = pointed_at(home, {"format": 2, "columns": {"prices": columns}, "sections": {"a": prices}})
    with pytest.raises(DataError, match="not laid out as this version") as caught:
        current(home)
    assert str(path) in str(caught.value)


def damage(home: Path, how: bytes | str) -> Path:
    """Damage what is in use; gives the path that must be told."""
    sha = keep(home, PriceSnapshot({"a": Section("a", 1, "s", (listed("1", 5),))}))
    pointer, file = home / "prices" / "current", home / "prices" / "snapshots" / f"{sha}.json"
    if isinstance(how, bytes):
        pointer.write_bytes(how)
        return home / "prices" / "snapshots" / f"{how.decode()}.json" if how == b"0" * 64 else pointer
    if how == "folder":
        pointer.unlink()
        pointer.mkdir()
        return pointer
    if how == "gone":
        file.unlink()
    elif how == "changed":
        file.write_bytes(file.read_bytes().replace(b'"1"', b'"2"'))
    else:
        return pointed_at(home, {"format": 99, "sections": {}})
    return file


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_snapshot_is_told_and_never_used(home: Path, how: bytes | str) -> None:
    path = damage(home, how)
    with pytest.raises(DataError) as caught:
        prices_of(Settings.load())
    assert str(path) in str(caught.value)
    assert "headway prices" in (caught.value.hint or "")


@pytest.mark.parametrize("how", DAMAGED[:-4] + DAMAGED[-3:])
def test_an_import_begins_anew_where_the_snapshot_is_damaged(home: Path, how: bytes | str) -> None:
    path = damage(home, how)
    before = {one: one.read_bytes() for one in (home / "prices" / "snapshots").iterdir()}
    done = import_prices(Settings.load(), home.parent / "a.csv", NOW)
    assert str(path) in str(done.aside)
    assert list(current(home).sections) == ["import/a"]
    assert {one: one.read_bytes() for one in before} == before, "what is damaged is kept"


def test_a_damaged_file_is_kept_beside_the_same_snapshot_written_again(home: Path) -> None:
    snapshot = PriceSnapshot({"a": Section("a", 1, "s", (listed("1", 5),))})
    path = damage(home, "changed")
    assert keep(home, snapshot) == path.stem
    assert current(home) == snapshot
    assert kept(home) == [path.stem]
    assert path.with_suffix(".json.damaged").is_file()


class Hardware:
    """EC2 as far as `machines` asks it."""

    def get_paginator(self, _name: str) -> Hardware:
        return self

    def paginate(self, **_words: object) -> list[dict[str, list[dict[str, object]]]]:
        kind = {
            "InstanceType": "new.large",
            "VCpuInfo": {"DefaultVCpus": 8},
            "MemoryInfo": {"SizeInMiB": 1024},
            "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
            "NetworkInfo": {"NetworkPerformance": "10 Gigabit", "EfaSupported": False},
        }
        return [{"InstanceTypes": [kind]}]


def test_a_refresh_begins_anew_where_the_snapshot_is_damaged_and_hardware_is_no_price(home: Path) -> None:
    damage(home, "changed")
    package = table_of(PriceSnapshot({}))
    done = refresh(Settings.load(), lambda *_: Hardware(), (["r"], ["machines"], ["new.large"]), NOW)
    assert "changed" in str(done.aside)
    assert list(current(home).sections) == ["machines/r"]
    table = prices_of(Settings.load())
    assert done.prices_sha256 == table.sha256 != package.sha256
    assert table.as_of == package.as_of, "no price was looked up"


@pytest.mark.parametrize("what", ["home", "prices", "snapshots", "current", "unwritable"])
def test_a_home_that_cannot_be_written_is_told(
    home: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {"home": home, "prices": home / "prices", "snapshots": home / "prices" / "snapshots"}
    if what in paths:
        paths[what].parent.mkdir(parents=True, exist_ok=True)
        paths[what].write_text("a file")
    elif what == "current":
        damage(home, "folder")
    else:
        (home.parent / "a.csv").write_text(CSV)
        monkeypatch.setenv("HEADWAY_HOME", "/proc/headway")  # nobody may write there, not even root
    with pytest.raises(UserError) as caught:
        import_prices(Settings.load(), home.parent / "a.csv", NOW)
    assert str(Settings.load().home) in str(caught.value)
    assert "HEADWAY_HOME" in (caught.value.hint or "")


def calls_for(home: Path, count: int) -> int:
    """How many calls it takes to import so many prices, and to have them at hand in a later command."""
    head, row = CSV.splitlines()
    rows = [row.replace("gpu_8x_h100", f"m{n}") for n in range(count)]
    (home.parent / "a.csv").write_text("\n".join([head, *rows]))
    shutil.rmtree(home, ignore_errors=True)
    with cProfile.Profile() as profile:
        import_prices(Settings.load(), home.parent / "a.csv", NOW)
        market = market_of(Settings.load())
        assert market.table.in_force("us-west-1", f"m{count - 1}", "on-demand", NOW, "lambda")
    return sum(entry.callcount for entry in profile.getstats())


def test_many_prices_cost_their_number_and_not_its_square(home: Path) -> None:
    calls_for(home, 1)  # what is read once
    few, many = calls_for(home, 500), calls_for(home, 2_000)
    package = calls_for(home, 1)
    assert many - package < 4.2 * (few - package)


def test_the_collector_runs_again_after_a_load(home: Path) -> None:
    prices_of(Settings.load())
    assert gc.isenabled()
    pointed_at(home, {"format": 2, "sections": 0})
    with pytest.raises(DataError):
        current(home)
    assert gc.isenabled()
