"""Files of other clouds' prices: each fault told with its line, and what several imports say together."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from headway.catalog import imported
from headway.catalog.imported import MAX_BYTES, MAX_ROWS, parse_prices
from headway.catalog.refreshed import current, kept
from headway.catalog.table import imported_series
from headway.catalog.tables import accelerators, microseconds
from headway.catalog.types import ListedPrice
from headway.controller.pricing import compare_with, forget, import_prices, imports_of, prices_of
from headway.errors import NotFoundError, UserError
from headway.settings import Settings

NOW = 1_790_000_000_000_000
DAY = 86_400_000_000
NEEDED = "provider,region,instance,capacity,price_per_hour,currency"
HEAD = f"{NEEDED},accelerator,accelerators,vcpus,memory_gib,source"
ROW = "lambda,us-west-1,gpu_8x_h100,on-demand,23.92,USD,h100-sxm,8,208,1800,quote"
CSV = f"{HEAD}\n{ROW}\ngcp,europe-west4,a3-highgpu-8g,spot,30.5,USD,h100-sxm,8,208,1872,\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    return tmp_path


def faults(text: str) -> list[str]:
    with pytest.raises(UserError) as caught:
        parse_prices(text, "f.csv", NOW, accelerators())
    return str(caught.value).splitlines()[1:]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lambda,r,x,on-demand,0,USD,,,8,32,", "between 0.000001 and 1,000,000"),
        ("lambda,r,x,on-demand,1e9,USD,,,8,32,", "between 0.000001 and 1,000,000"),
        ("lambda,r,x,on-demand,-1,USD,,,8,32,", "between 0.000001"),
        ("lambda,r,x,on-demand,1_000,USD,,,8,32,", "not a number"),
        ("lambda,r,x,on-demand,٣,USD,,,8,32,", "not a number"),
        ("lambda,r,x,on-demand,nan,USD,,,8,32,", "not a number"),
        ("lambda,r,x,on-demand,9e999999999,USD,,,8,32,", "not a number"),
        ('lambda,r,x,on-demand,"1,5",USD,,,8,32,', "write 1234.5"),
        ("lambda,r,x,on-demand,,USD,,,8,32,", "price_per_hour: is empty"),
        ("lambda,r,x,on-demand,1,,,,8,32,", "currency: is empty"),
        ("lambda,r,x,on-demand,1,usd,,,8,32,", "currency"),
        ("lambda,r,x,sometimes,1,USD,,,8,32,", "capacity"),
        ("lambda,r,x,on-demand,1,USD,h9000,8,,,", "h9000"),
        ("lambda,r,x,on-demand,1,USD,H100-SXM,8,,,", "near: h100-sxm"),
        ("lambda,r,x,on-demand,1,USD,h100-sxm,,,,", "how many"),
        ("lambda,r,x,on-demand,1,USD,h100-sxm,0.5,,,", "between 1 and 10,000"),
        ("lambda,r,x,on-demand,1,USD,h100-sxm,1.5,,,", "whole number"),
        ("lambda,r,x,on-demand,1,USD,,8,8,32,", "which ones"),
        ("lambda,r,x,on-demand,1,USD,,,8,,", "memory_gib"),
        ("lambda,r,x,on-demand,1,USD,,,,32,", "vcpus"),
        ("lambda,r,x,on-demand,1,USD,,,0.5,32,", "between 1 and 100,000"),
        ("aws,r,x,on-demand,1,USD,,,8,32,", "prices refresh"),
        ("AWS,r,x,on-demand,1,USD,,,8,32,", "prices refresh"),
        (",r,x,on-demand,1,USD,,,8,32,", "provider: is empty"),
        ("lambda,r,x,on-demand,1,USD,,,8,32,,surplus", "12 cells, where the header has 11"),
        ("gcp,europe-west4,a3-highgpu-8g,spot,1,USD,h100-sxm,8,208,1872,", "as on line 3"),
        ("gcp,europe-west1,a3-highgpu-8g,spot,1,USD,h100-sxm,4,208,1872,", "other hardware"),
        ("lambda,r,x\0y,on-demand,1,USD,,,8,32,", r"instance: \"x\u0000y\" holds characters"),
        ("lambda,r,x\u202ey,on-demand,1,USD,,,8,32,", r"x\u202ey"),
        ("lambda,r\x1b[31m,x,on-demand,1,USD,,,8,32,", r"r\u001b[31m"),
        ('lambda,r,"x\ny",on-demand,1,USD,,,8,32,', r"x\ny"),
        ("lambda,r,x,on-demand,1,USD,,,8,32,a\u2028b", r"a\u2028b"),
        (f"lambda,r,{'x' * 101},on-demand,1,USD,,,8,32,", "101 characters, more than 100"),
        (f"lambda,r,x,on-demand,1,USD,,,8,32,{'x' * 501}", "501 characters, more than 500"),
        ('lambda,r,"x"y,on-demand,1,USD,,,8,32,', "not CSV"),
        ('lambda,r,"x,on-demand,1,USD,,,8,32,', "not CSV"),
    ],
)
def test_a_wrong_cell_is_told_once_and_nothing_is_taken_over(home: Path, line: str, said: str) -> None:
    file = home / "wrong.csv"
    file.write_text(CSV + line + "\n", encoding="utf-8", newline="")
    with pytest.raises(UserError, match=r"wrong\.csv:4 ") as caught:
        import_prices(Settings.load(), file, NOW)
    assert said.replace('\\"', '"') in str(caught.value)
    assert caught.value.values["count"] == 1
    assert str(caught.value).splitlines()[1].isprintable()
    assert not current(home / "home").sections


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("provider,region\n", "column currency is missing"),
        ("a,b\n1,2\n", 'column "a" is not known'),
        (CSV.splitlines()[0], "no line of prices"),
        (CSV.splitlines()[0] + "\n,,,,,,,,,,\n", "no line of prices"),
        (CSV.replace(",", ";"), "separated by ; : save the file with commas"),
        (CSV.replace(",", "\t"), "separated by TAB"),
        (CSV.replace("price_per_hour", "Price_per_hour"), "did you mean price_per_hour"),
        (CSV.replace("source", "region"), "column region stands there twice"),
        (CSV.replace("source", ""), "column 11 has no name"),
        (CSV.replace("source", "sour\0ce"), r"sour\u0000ce"),
    ],
)
def test_a_file_that_is_not_laid_out_so_is_told(text: str, said: str) -> None:
    told = faults(text)
    assert all(line.startswith("f.csv:1  ") for line in told)
    assert said in "\n".join(told)
    assert "\n".join(told).replace("\n", "").isprintable()


def test_every_wrong_line_is_counted_and_some_are_shown() -> None:
    told = faults(HEAD + "\n" + "lambda,r,x,on-demand,?,USD,,,8,32,\n" * 70)
    assert len(told) == 51
    assert told[-1] == "… and 20 more"


def test_so_many_prices_load_and_more_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_ROWS == 100_000
    monkeypatch.setattr(imported, "MAX_ROWS", 2_000)
    rows = [ROW.replace("us-west-1", f"r{n}") for n in range(2_000)]
    assert len(parse_prices("\n".join([HEAD, *rows]), "f", NOW, accelerators()).prices) == 2_000
    (told,) = faults("\n".join([HEAD, *rows, ROW, ROW]))
    assert told.startswith("f.csv:2002  more than 2,000 prices: give the file in parts")


@pytest.mark.parametrize(
    "name", ["latin.csv", "utf16.csv", "folder", "..", "absent.csv", "absent/a.csv", "large.csv"]
)
def test_what_cannot_be_read_is_told_with_its_path(home: Path, name: str) -> None:
    path = home / name
    if name == "folder":
        path.mkdir()
    elif name == "latin.csv":
        path.write_bytes(CSV.replace("quote", "cité").encode("latin-1"))
    elif name == "utf16.csv":
        path.write_bytes(CSV.encode("utf-16"))
    elif name == "large.csv":
        path.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(NotFoundError if "absent" in name else UserError) as caught:
        import_prices(Settings.load(), path, NOW)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    said = {"latin.csv": "latin.csv:2  a byte that is not UTF-8", "utf16.csv": "save the file as UTF-8"}
    said |= {"folder": "a folder", "..": "a folder", "large.csv": "32 MiB"}
    assert said.get(name, "no such file") in str(caught.value)


def test_a_file_name_is_never_printed_as_it_is(home: Path) -> None:
    path = home / "a\nb\x1b[31m.csv"
    path.write_text(CSV.replace("quote", ""))
    done = import_prices(Settings.load(), path, NOW)
    told = [
        done.section.name,
        done.section.file,
        done.section.source,
        *(p.source for p in done.section.prices),
    ]
    assert all(line.isprintable() for line in told)
    path.write_text("x")
    with pytest.raises(UserError) as caught:
        import_prices(Settings.load(), path, NOW)
    assert all(line.isprintable() for line in str(caught.value).splitlines())
    for name in ("", " ", "a\nb", "x" * 101):
        with pytest.raises(UserError, match="not a name"):
            import_prices(Settings.load(), path, NOW, name)


def listed(price: str, start: int, currency: str = "USD") -> ListedPrice:
    return ListedPrice("p5", "r", "on-demand", currency, price, start, None, NOW, "s", provider="lambda")


@pytest.mark.parametrize(
    ("given", "series"),
    [
        ([], []),
        ([("1", 0), ("2", 5)], [("1", 0, 5), ("2", 5, None)]),
        ([("1", 5), ("2", 5)], [("2", 5, None)]),  # both of one day: the newest import
        ([("1", 5), ("2", 0)], [("2", 0, None)]),  # it speaks of all that comes after its day
        ([("1", 0), ("1", 5)], [("1", 0, None)]),
        ([("1", 0), ("2", 9), ("3", 5)], [("1", 0, 5), ("3", 5, None)]),
        ([("1", 0), ("2", 5), ("3", 9)], [("1", 0, 5), ("2", 5, 9), ("3", 9, None)]),
    ],
)
def test_the_newest_import_of_a_place_holds_from_its_own_day(given, series) -> None:
    found = imported_series(listed(price, start) for price, start in given)
    assert [(p.price_text, p.effective_from, p.effective_to) for p in found] == series


def in_force(at: int) -> list[tuple[Decimal, str]]:
    rows = prices_of(Settings.load()).in_force("us-west-1", "gpu_8x_h100", "on-demand", at, "lambda")
    return [(Decimal(row.price_text), row.currency) for row in rows]


def priced(price: str, start: str = "", row: str = ROW) -> str:
    return f"{HEAD},from\n{row.replace('23.92', price)},{start}\n"


@pytest.mark.parametrize("name", ["same", "other"])
def test_a_place_imported_again_has_its_new_price_at_once(home: Path, name: str) -> None:
    (home / "same.csv").write_text(priced("20"))
    import_prices(Settings.load(), home / "same.csv", NOW)
    (home / f"{name}.csv").write_text(priced("30"))
    import_prices(Settings.load(), home / f"{name}.csv", NOW + 1)
    assert in_force(NOW + 1) == [(Decimal(30), "USD")]
    (home / f"{name}.csv").write_text(priced("40", "2020-01-01"))
    import_prices(Settings.load(), home / f"{name}.csv", NOW + 2)
    assert in_force(microseconds("2020-01-01")) == [(Decimal(40), "USD")]
    (home / "later.csv").write_text(priced("50", "2030-01-01"))
    import_prices(Settings.load(), home / "later.csv", NOW + 3)
    assert in_force(NOW + 3) == [(Decimal(40), "USD")]
    assert in_force(microseconds("2030-01-01")) == [(Decimal(50), "USD")]


def test_an_older_import_that_is_imported_again_wins_again(home: Path) -> None:
    (home / "a.csv").write_text(priced("20"))
    (home / "b.csv").write_text(priced("30"))
    for step, name in enumerate(["a", "b", "a"]):
        assert not import_prices(Settings.load(), home / f"{name}.csv", NOW + step).unchanged
    assert in_force(NOW + 2) == [(Decimal(20), "USD")]
    assert import_prices(Settings.load(), home / "a.csv", NOW + 3).unchanged


def test_the_same_file_again_changes_nothing(home: Path) -> None:
    file = home / "a.csv"
    file.write_text(CSV)
    first = import_prices(Settings.load(), file, NOW)
    again = import_prices(Settings.load(), file, NOW + DAY)
    assert (again.unchanged, again.sha256, again.section) == (True, first.sha256, first.section)
    assert len(kept(home / "home")) == 1
    assert again.sha256 == prices_of(Settings.load()).sha256
    named = import_prices(Settings.load(), file, NOW + DAY, "mine")
    assert (named.unchanged, named.replaced) == (False, None)


def test_two_files_of_one_name_say_what_they_replace(home: Path) -> None:
    for folder in ("a", "b"):
        (home / folder).mkdir()
        (home / folder / "prices.csv").write_text(CSV if folder == "a" else priced("30"))
    first = import_prices(Settings.load(), home / "a" / "prices.csv", NOW)
    second = import_prices(Settings.load(), home / "b" / "prices.csv", NOW + 1)
    assert second.replaced == first.section
    import_prices(Settings.load(), home / "a" / "prices.csv", NOW + 2, "of a")
    assert [one.label for one in imports_of(Settings.load())] == ["prices", "of a"]


def test_an_import_is_forgotten_and_its_snapshot_kept(home: Path) -> None:
    package = prices_of(Settings.load())
    (home / "a.csv").write_text(CSV)
    done = import_prices(Settings.load(), home / "a.csv", NOW)
    with pytest.raises(NotFoundError, match="near: a"):
        forget(Settings.load(), "aa")
    with pytest.raises(NotFoundError, match="no import"):
        forget(Settings.load(), "x\n")
    section, sha, now = forget(Settings.load(), "a")
    assert section == done.section
    assert sha in kept(home / "home")
    assert (now, prices_of(Settings.load())) == (package.sha256, package)
    assert imports_of(Settings.load()) == ()
    # Both hashes name what was kept: that of the file, and that which plans and receipts show.
    for name in (sha[:12], done.sha256[:12]):
        base, changes = compare_with(Settings.load(), name, NOW)
        assert base == sha
        assert len(changes) == 2
    assert compare_with(Settings.load(), package.sha256[:12], NOW)[1] == []


def test_an_import_never_makes_prices_of_aws_look_newer(home: Path) -> None:
    package = prices_of(Settings.load())
    (home / "a.csv").write_text(CSV)
    import_prices(Settings.load(), home / "a.csv", NOW)
    table = prices_of(Settings.load())
    assert table.as_of == package.as_of < NOW
    assert package.source in table.source
    assert "imported from a.csv" in table.source
