"""Each module and example is well formed, valid and keeps its own tests; each refusal is tried once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from terraform_command import MODULES, ROOT, files_of_tests

_VARIABLE = re.compile(r'^variable "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_OBJECT = re.compile(r'^(?:resource|data) "(\w+)" "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_EXPECTED = re.compile(r"expect_failures\s*=\s*\[(.*?)\]", re.DOTALL)


def test_the_files_are_formatted(terraform):
    done = terraform.run(".", "fmt", "-check", "-recursive", "-diff")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("module", MODULES)
def test_it_is_valid_and_keeps_its_tests(terraform, module):
    terraform.init(module)
    terraform.ok(module, "validate")
    said = terraform.ok(module, "test", "-no-color")
    passed, failed = re.search(r"(\d+) passed, (\d+) failed", said).groups()
    assert int(passed) >= 1, "a module without tests proves nothing"
    assert failed == "0"


def refusals(folder: Path) -> Counter[str]:
    """How many conditions each variable or object of a module has."""
    found: Counter[str] = Counter()
    for path in folder.glob("*.tf"):
        text = path.read_text()
        for name, body in _VARIABLE.findall(text):
            found[f"var.{name}"] += body.count("validation {")
        for kind, name, body in _OBJECT.findall(text):
            found[f"{kind}.{name}"] += body.count("precondition {")
    return +found


@pytest.mark.parametrize("module", MODULES)
def test_each_condition_is_seen_to_refuse(module):
    tried: Counter[str] = Counter()
    for path in files_of_tests(module):
        for names in _EXPECTED.findall(path.read_text()):
            tried.update(name.strip() for name in names.split(",") if name.strip())
    untried = {name: count for name, count in refusals(ROOT / module).items() if tried[name] < count}
    assert untried == {}, "more conditions than tests that see them refuse"


def test_a_condition_is_found_where_it_stands():
    conditions = sum((refusals(ROOT / module) for module in MODULES), Counter())
    written = sum(
        path.read_text().count("validation {") + path.read_text().count("precondition {")
        for path in ROOT.glob("*/*/*.tf")
    )
    assert conditions.total() == written > 0
