"""The shipped throughput constants are what the tool gives from the shipped rows."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

from headway.catalog.tables import data_bytes
from headway.catalog.throughput import FIT_NAME
from headway.planner.throughput.constants import NAMES
from headway.planner.throughput.model import model_of

TOOL = Path(__file__).parents[2] / "tools" / "fit_throughput.py"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fit_throughput", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_rows_give() -> None:
    shipped = json.loads(data_bytes(FIT_NAME))
    assert len(shipped.pop("date")) == 10
    found = tool().content()
    assert found["rows"] == shipped["rows"]
    assert tool().difference(shipped, found) < 1e-3


def test_the_file_is_read_whole() -> None:
    shipped = json.loads(data_bytes(FIT_NAME))
    model = model_of(shipped)
    assert set(shipped["constants"]) == set(NAMES)
    assert set(model.corrections) == set(shipped["corrections"])
    assert all(deviation > 0 for _, deviation in model.corrections.values())


def test_figures_are_compared_with_care() -> None:
    difference = tool().difference
    assert difference({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]}) == 0
    assert difference({"a": 1.0}, {"a": 1.01}) > 1e-3
    assert difference({"a": 1.0}, {"b": 1.0}) == float("inf")
    assert difference("x", "y") == float("inf")
