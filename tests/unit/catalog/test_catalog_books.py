"""Price books that speak of what there is, told by their lines where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.catalog.refreshed import PriceSnapshot, Section, keep
from headway.catalog.types import ListedPrice
from headway.controller.pricing import book_of, market_of
from headway.errors import HeadwayError, NotFoundError
from headway.settings import Settings
from headway.spec.problems import SpecProblems

RATE = "{kind: rate, name: a, instance: p5.48xlarge, region: us-east-1, price: 4 USD}"
BLOCK = (
    "{kind: block, name: b, instance: p5.48xlarge, region: us-east-1, nodes: 1, fee: 1 USD,"
    " from: 2026-01-01, until: 2026-02-01}"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    return tmp_path


def write(home: Path, *layers: str) -> None:
    (home / "prices.yaml").write_text("version: 1\nlayers:\n" + "".join(f"- {layer}\n" for layer in layers))


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (
            RATE.replace("p5.48", "p5.84"),
            'instance: "p5.84xlarge" is no instance type that is known (near: p5.4xlarge, p5.48',
        ),
        (
            RATE.replace("us-east-1", "us-est-1"),
            'region: "us-est-1" is no region that is known (near: us-west-1, us-east-1',
        ),
        (RATE.replace("us-east-1", "mars"), '"mars" is no region'),
        (BLOCK.replace("p5.48xlarge", "unheard"), '"unheard" is no instance'),
        (BLOCK.replace("us-east-1", "us-east-9"), '"us-east-9" is no region'),
        (
            '{kind: discount, name: a, percent: 5, instances: ["p5*", "q7.*"]}',
            'instances[1]: "q7.*" fits nothing',
        ),
        ('{kind: discount, name: a, percent: 5, regions: ["us_east*"]}', "pattern"),
        (
            '{kind: discount, name: a, percent: 5, regions: ["us-est-*"]}',
            'regions[0]: "us-est-*" fits nothing',
        ),
        ('{kind: discount, name: a, percent: 5, regions: ["US East (N. Virginia)"]}', "pattern"),
        ("{kind: credit, name: c, amount: 1 USD}", 'name: the name "c" is used twice'),
        ("{kind: discount, name: c, percent: 5}", 'name: the name "c" is used twice'),
    ],
)
def test_a_layer_that_would_do_nothing_is_refused_with_its_line(home: Path, layer: str, said: str) -> None:
    write(home, "{kind: credit, name: c, amount: 1 USD}", layer)
    with pytest.raises(SpecProblems) as caught:
        book_of(Settings.load())
    assert "prices.yaml:4:" in str(caught.value)
    assert said in str(caught.value)


def test_what_is_known_by_whatever_source_may_be_named(home: Path) -> None:
    fetched = ListedPrice("x9.large", "mx-north-7", "spot", "USD", "1", 0, None, 0, "s")
    keep(home, PriceSnapshot({"spot/mx-north-7": Section("spot/mx-north-7", 1, "s", (fetched,))}))
    (home / "sites.yaml").write_text(
        "version: 1\nsites:\n"
        "- {name: new, kind: aws, region: xx-new-1, pools: [{name: a, instance: p5.48xlarge}]}\n"
    )
    layers = [
        RATE.replace("p5.48xlarge", "x9.large").replace("us-east-1", "mx-north-7"),
        RATE.replace("us-east-1", "xx-new-1").replace("name: a", "name: b"),
        RATE.replace("us-east-1", "mx-central-1").replace("name: a", "name: c"),
        '{kind: discount, name: d, percent: 5, instances: ["p5.*", "?9.large"], regions: ["eu-*", "*"]}',
    ]
    write(home, *layers)
    assert len(market_of(Settings.load()).book.layers) == len(layers)
    # A sites file that is wrong, or a damaged snapshot, is told where it is used: a budget needs neither.
    (home / "sites.yaml").write_text("version: 0\n")
    (home / "prices" / "current").write_text("damaged")
    write(home, "{kind: credit, name: c, amount: 1 USD}")
    assert len(book_of(Settings.load()).credits) == 1


def test_a_discount_is_of_on_demand_alone_unless_it_says_so(home: Path) -> None:
    write(
        home,
        "{kind: discount, name: a, percent: 5}",
        "{kind: discount, name: b, percent: 5, capacity: [on-demand, spot]}",
    )
    given = [layer.capacities for layer in book_of(Settings.load()).layers]
    assert given == [("on-demand",), ("on-demand", "spot")]


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("what", ["folder", "empty", "comment", "nul", "latin", "gone"])
def test_a_book_that_is_no_file_of_layers_is_told_with_its_path(
    home: Path, monkeypatch: pytest.MonkeyPatch, what: str, stated: bool
) -> None:
    path = home / ("mine.yaml" if stated else "prices.yaml")
    if stated:
        monkeypatch.setenv("HEADWAY_PRICE_BOOK", str(path))
    if what == "folder":
        path.mkdir()
    elif what == "gone":
        path.symlink_to(home / "absent")
    else:
        path.write_bytes({"empty": b"", "comment": b"# none\n", "nul": b"\0", "latin": b"name: \xe9\n"}[what])
    with pytest.raises(NotFoundError if what == "gone" else SpecProblems) as caught:
        book_of(Settings.load())
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, HeadwayError)
