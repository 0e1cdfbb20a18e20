"""YAML 1.2 as the core schema says, with positions, within bounds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import NotFoundError
from headway.spec import bounds
from headway.spec.loader import parse, parse_value, read
from headway.spec.positions import Position
from headway.spec.problems import SpecProblems, dotted, show


def value(written):
    return parse(f"a: {written}\n", "f").data["a"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("40e6", 40e6),
        ("1e-5", 1e-5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-0.5E+3", -500.0),
        ("0", 0),
        ("-12", -12),
        ("+3", 3),
        ("0o17", 15),
        ("0xfF", 255),
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("null", None),
        ("~", None),
        ("", None),
    ],
)
def test_core_schema_types(written, meant):
    assert value(written) == meant
    assert type(value(written)) is type(meant)


@pytest.mark.parametrize(
    "written",
    [
        "12:30:00",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "0777",
        "-012",
        "2026-01-01",
        "1_000",
        "0b1",
        "1..16",
        "e5",
        ".",
        "+",
        "-.",
        "tRue",
        "nUll",
        "2026-01-01T00:00:00Z",
        "=",
        "١٢",
        "1e",
        "0x",
        "0o8",
        "s3://b/k",
    ],
)
def test_what_stays_text(written):
    assert value(written) == written


def test_an_explicit_text_tag_is_followed():
    assert value("!!str 12") == "12"
    assert value('"12"') == "12"


def test_anchors_within_bounds():
    assert parse("a: &x [1, 2]\nb: *x\n", "f").data == {"a": [1, 2], "b": [1, 2]}


def test_a_byte_order_mark_is_no_character(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    document = read(path)
    assert document.data == {"a": 1}
    assert document.positions.key(("a",)) == Position(str(path), 1, 1)


def test_positions_of_keys_and_values():
    positions = parse("# first\na:\n  - b: {c: 1}\n  - 2\nd: |\n  text\n", "f").positions
    assert positions.key(("a",)) == Position("f", 2, 1)
    assert positions.value(("a",)) == Position("f", 3, 3)
    assert positions.key(("a", 0, "b", "c")) == Position("f", 3, 9)
    assert positions.value(("a", 0, "b", "c")) == Position("f", 3, 12)
    assert positions.value(("a", 1)) == Position("f", 4, 5)
    assert positions.value(("d",)) == Position("f", 5, 4)
    # What is not there is pointed at by what it is missing from.
    assert positions.value(("a", 0, "b", "zebra")) == Position("f", 3, 5)
    assert positions.value(("zebra",)) == Position("f", 2, 1)


def test_a_missing_file_is_another_kind_of_error(tmp_path):
    with pytest.raises(NotFoundError) as caught:
        read(tmp_path / "none.yaml")
    assert caught.value.exit_code == 3
    assert "none.yaml" in str(caught.value)
    assert caught.value.hint


def test_an_unreadable_file_is_named():
    with pytest.raises(SpecProblems) as caught:
        read(Path("a\0b"))
    assert caught.value.problems[0].message == "spec.unreadable"


HOSTILE = {
    "brackets": "a: " + "[" * 900_000,
    "dashes": "- " * 450_000,
    "question-marks": "? " * 450_000,
    "items": "a: [" + "x, " * 300_000 + "]",
    "keys": "".join(f"k{index}: 1\n" for index in range(90_000)),
    "anchors": "a: [" + ",".join(f"&a{index} x" for index in range(70_000)) + "]",
    "directive": "%" + "a" * 900_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_soon(name):
    # Without the bounds these take minutes or all memory; the suite's own time limit would tell.
    with pytest.raises(SpecProblems) as caught:
        parse(HOSTILE[name], "f")
    assert len(caught.value.problems) == 1


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(written):
    try:
        document = parse(written, "f")
    except SpecProblems as error:
        found = error.problems
    else:
        found = [document.data]
    assert len(found) > 0


@given(st.text(alphabet="a:-[]{}&*!|>'\"%@`#,?\n\t 1.e~<", max_size=60))
def test_any_punctuation_is_read_or_refused(written):
    lines = written.count("\n") + 2
    try:
        problems = parse(written, "f").problems
    except SpecProblems as error:
        problems = error.problems
    assert all(0 <= one.line <= lines for one in problems)


def test_a_value_alone():
    assert parse_value("[1, two]", "--set a") == ([1, "two"], [])
    _, problems = parse_value("[1", "--set a")
    assert [one.where for one in problems] == ["--set a"]


def test_what_messages_show():
    assert show("a\x1b[31mb\u202e") == '"a\\u001b[31mb\\u202e"'
    assert len(show("x" * 500)) <= 60
    assert dotted(("labels", "a b", 0)) == 'labels."a b"[0]'


def test_bounds_are_stated():
    assert all(bound.low <= bound.high and bound.unit for bound in bounds.BOUNDS.values())


def test_escapes_of_json_are_joined():
    assert value(r'"\ud83d\ude00"') == "\U0001f600"


@pytest.mark.parametrize("written", [r'"\ud83d"', r'"\UFFFFFFFF"', r'{"\ud83d": 1}'])
def test_an_escape_of_no_character_is_refused(written):
    try:
        problems = parse(f"a: {written}\n", "f").problems
    except SpecProblems as error:
        problems = error.problems
    assert [(one.message, one.line) for one in problems] == [("spec.yaml_escape", 1)]
