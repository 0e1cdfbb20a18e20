"""A text that is written into a file is read back as that text, by our reader and by YAML 1.1's."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway.spec.loader import parse
from headway.spec.written import written

ODD = [
    "on",
    "no",
    "y",
    "1e3",
    "0x1F",
    "1_000",
    "12:30:00",
    "2026-01-01",
    "a: b",
    "#x",
    "a #b",
    "",
    " ",
    "~",
    "null",
]
ODD += [
    "true",
    ".nan",
    "- a",
    "[a]",
    "{a",
    "*a",
    "&a",
    "!a",
    "'",
    '"',
    "a\nb",
    "it's",
    "%a",
    "@a",
    "=",
    "<<",
    "0777",
]


@pytest.mark.parametrize("value", ODD)
def test_odd_texts_stay_texts(value):
    line = f"name: {written(value)}\n"
    assert parse(line, "").data == {"name": value}
    assert yaml.safe_load(line) == {"name": value}


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=40))
def test_any_printable_text_stays_itself(value):
    assert parse(f"name: {written(value)}\n", "").data == {"name": value}


@pytest.mark.parametrize("value", ["dc1", "my-site", "train.py", "A b"])
def test_plain_texts_stay_plain(value):
    assert written(value) == value
