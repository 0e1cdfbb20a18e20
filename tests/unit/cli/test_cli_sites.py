"""`headway sites add owned`: into any sites file, whole or not at all, in the command line's own words."""

from __future__ import annotations

import csv
import importlib
import io
import json
import shlex
import socket
from pathlib import Path

import click
import pytest
import yaml

from headway.cli.figures import Figure
from headway.cli.main import COMMANDS
from headway.spec.files import load_job, load_sites

ROOT = Path(__file__).resolve().parents[3]
FIGURES = {
    "--price": "400000 USD",
    "--gpus": "8",
    "--watts": "7750",
    "--tariff": "0.09 USD",
    "--use": "0.5",
}
AWS = "kind: aws\n{0}region: us-east-1\n{0}pools: [{{name: p, instance: p5.48xlarge}}]"


def words(name="dc9", **change):
    figures = FIGURES | {f"--{key}": value for key, value in change.items()}
    return ["sites", "add", "owned", name, *(f"{key}={value}" for key, value in figures.items())]


def aws(indent, name="a"):
    return f"{' ' * indent}- name: {name}\n{' ' * indent}  " + AWS.format(" " * (indent + 2))


FILES = {
    "the last key": f"version: 1\nsites:\n{aws(2)}\n",
    "no line break at the end": f"version: 1\nsites:\n{aws(2)}",
    "a key after it": f"version: 1\nsites:\n{aws(2)}  # note\n\n# of here\nhere: {{cores: 2}}\n",
    "two sites, then a key": f"version: 1\nsites:\n{aws(4)}\n{aws(4, 'b')}\nhere: {{cores: 2}}\n",
    "no indentation": f"version: 1\nsites:\n{aws(0)}\nhere: {{cores: 2}}\n",
    "six spaces, dash alone": f"version: 1\nsites:\n{' ' * 6}-\n{' ' * 8}name: a\n{' ' * 8}"
    + AWS.format(" " * 8),
    "an empty list": "version: 1\nsites: []\n",
    "an empty list with a note, then a key": "version: 1\nsites: [ ]   # none yet\nhere: {cores: 2}\n",
    "nothing after the key": "version: 1\nsites:\n",
    "no key": "version: 1\nhere: {cores: 2}",
    "the key first": f"sites:\n{aws(2)}\nversion: 1\n",
    "a quoted key": '"version": 1\n"sites": []\n',
    "only a version": "version: 1\n",
    "only a note": "# mine\n",
    "empty": "",
}


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("name", FILES)
def test_a_site_goes_to_the_end_of_the_sites_and_all_else_stays(headway, monkeypatch, tmp_path, name, end):
    path = tmp_path / "my sites.yaml"
    before = FILES[name].replace("\n", end)
    path.write_bytes(before.encode())
    monkeypatch.setenv("HEADWAY_SITES", str(path))
    code, _out, err = headway(*words())
    assert code == 0, err
    after = path.read_bytes().decode()
    old, new = yaml.safe_load(before) or {}, yaml.safe_load(after)
    assert [site["name"] for site in new["sites"]] == [
        *(site["name"] for site in old.get("sites") or []),
        "dc9",
    ]
    assert new.get("here") == old.get("here")
    kept = [line.split("[")[0].strip() for line in before.splitlines() if line.strip()]
    assert all(line in after for line in kept), "notes and lines stay"
    if end == "\r\n" and before:
        assert "\n" not in after.replace("\r\n", "")
    assert load_sites(path).spec.sites[-1].utilisation == 0.5
    assert headway(*words("dc10"))[0] == 0
    assert sorted(one.name for one in tmp_path.iterdir() if "sites" in one.name) == ["my sites.yaml"]


UNSAFE = {
    "flow": "version: 1\nsites: [{name: a, kind: aws, region: us-east-1,"
    " pools: [{name: p, instance: p5.48xlarge}]}]\n",
    "all flow": "{version: 1, sites: []}\n",
    "an end": "version: 1\nhere: {cores: 2}\n...\n",
}


@pytest.mark.parametrize("name", UNSAFE)
def test_a_file_that_cannot_be_added_to_is_left_and_the_block_is_given(headway, monkeypatch, tmp_path, name):
    path = tmp_path / "sites.yaml"
    path.write_text(UNSAFE[name])
    monkeypatch.setenv("HEADWAY_SITES", str(path))
    code, _out, err = headway(*words())
    assert code == 2
    assert path.read_text() == UNSAFE[name]
    block = err[err.index("  - name: dc9") :]
    path.write_text(f"version: 1\nsites:\n{block}")
    assert load_sites(path).spec.sites[0].name == "dc9"


def test_a_file_that_is_wrong_already_is_named_itself(headway, monkeypatch, tmp_path):
    path = tmp_path / "sites.yaml"
    path.write_text("version: 1\nsites: []\nbad: 1\n")
    monkeypatch.setenv("HEADWAY_SITES", str(path))
    code, _out, err = headway(*words())
    assert code == 2
    assert f"{path}:3:1" in err
    assert path.read_text().endswith("bad: 1\n")


@pytest.mark.parametrize("name", ["on", "no", "1e3", "12", "0x1F", "2026-01-01", "1_0", "null", "dc-1.a"])
def test_any_name_is_written_so_that_it_stays_the_name(headway, home, name):
    assert headway(*words(name))[0] == 0
    assert load_sites(home / "sites.yaml").spec.sites[0].name == name
    assert yaml.safe_load((home / "sites.yaml").read_text())["sites"][0]["name"] == name
    before = (home / "sites.yaml").read_bytes()
    code, _out, err = headway(*words(name))
    assert code == 2
    assert "NAME" in err
    assert (home / "sites.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("NAME", name) for name in ("a: b", "#x", "", "here", "any", "x" * 101, "a\nb", '"')),
        *(("--price", value) for value in ("cheap", "4", "-1 USD", "0 USD", "1e20 USD", "nan USD")),
        *(("--tariff", value) for value in ("0.09 EUR", "101 USD", "-1 USD", "free")),
        *(("--watts", value) for value in ("0", "nan", "inf", "-inf", "1e9", "x")),
        *(("--gpus", value) for value in ("0", "65", "nan", "8.5")),
        *(("--use", value) for value in ("0", "1.1", "nan", "inf", "x")),
        ("--accelerator", "h1000"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_given_and_nothing_is_written(headway, home, option, value):
    change = {} if option == "NAME" else {option.removeprefix("--"): value}
    code, _out, err = headway(*words(value if option == "NAME" else "dc9", **change))
    assert code == 2
    assert option in err
    assert "draft" not in err
    assert "Traceback" not in err
    assert not home.exists() or list(home.glob("sites*")) == []


def test_the_use_that_was_said_is_the_use_that_is_planned_with(headway):
    assert headway(*words(use="0.125"))[0] == 0
    _code, out, _err = headway("sites", "list", "-o", "json")
    (row,) = [row for row in json.loads(out)["offerings"] if row["offering"] == "dc9/gpus"]
    assert "used 12.5% of the time (as stated)" in row["basis"]


def options():
    """Every option and argument of every command, with where it is."""
    todo = [(name, importlib.import_module(f"headway.cli.{name}").command) for name in COMMANDS]
    while todo:
        name, command = todo.pop()
        for parameter in command.params:
            yield f"{name} {parameter.name}", parameter
        todo.extend((f"{name} {key}", below) for key, below in getattr(command, "commands", {}).items())


def test_no_option_takes_a_number_that_is_none():
    number = (click.types.FloatParamType, click.types.IntParamType)
    found = {name: one for name, one in options() if isinstance(one.type, number)}
    assert len(found) >= 5
    for name, option in found.items():
        if isinstance(option.type, click.types.FloatParamType):
            assert isinstance(option.type, Figure), name
        for value in ("nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999"):
            with pytest.raises(click.BadParameter):
                option.type.convert(value, option, None)


def test_a_cell_of_a_csv_is_never_the_repr_of_a_python_object(headway, monkeypatch):
    plan = ["plan", str(ROOT / "jobs" / "plans" / "vit-l.yaml")]
    nested = 0
    for command in (plan, ["prices", "list"], ["accelerators"], ["sites", "list"], ["config"], ["doctor"]):
        code, out, _err = headway(*command, "-o", "csv")
        assert code == 0, command
        for row in csv.DictReader(io.StringIO(out)):
            for cell in row.values():
                if cell.startswith(("{", "[", "(")) and cell.endswith(("}", "]", ")")):
                    json.loads(cell)
                    nested += 1
    assert nested > 10


def test_a_port_in_use_is_said_before_an_address(headway, home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, err = headway("dashboard", "--port", str(port), "--no-browser")
    assert code == 7
    assert str(port) in err
    assert "--port" in err.splitlines()[-1], "a hint"
    assert "http://" not in out + err


@pytest.mark.parametrize("instance", ["nope", "", "p5.49xlarge"])
def test_what_is_near_is_said_only_where_something_is(headway, instance):
    code, _out, err = headway("prices", "show", instance)
    assert code == 3
    assert "near: -" not in err
    assert ("near: p5" in err) is (instance == "p5.49xlarge")


def test_a_place_that_is_near_none_is_not_said_to_be_near_one(headway, monkeypatch, tmp_path):
    path = tmp_path / "sites.yaml"
    path.write_text("version: 1\nhere: {location: Atlantis-on-Sea}\n")
    monkeypatch.setenv("HEADWAY_SITES", str(path))
    code, _out, err = headway("sites", "show", "here")
    assert code == 2
    assert "near: -" not in err


@pytest.mark.parametrize("source", ["def (\n", "x = '\n", "if x:\n", "\0", "  x\n y\n", "x = " + "(" * 500])
def test_a_broken_script_is_named_by_its_own_name(headway, tmp_path, source):
    script = tmp_path / "mein skript.py"
    script.write_text(source)
    code, _out, err = headway("init", str(script))
    assert code == 2
    assert "mein skript.py:" in err
    assert "<unknown>" not in err


@pytest.mark.parametrize("name", ["train", "1e3", "on", "my script", "it's", 'a "b"', "a$b", "ü"])
def test_a_script_of_any_name_gets_a_job_and_a_command_that_a_shell_reads(headway, tmp_path, name):

    script = tmp_path / f"{name}.py"
    script.write_text("print()\n")
    code, out, err = headway("init", str(script))
    assert code == 0, err
    spec = load_job(out.strip()).spec
    assert shlex.split(spec.entrypoint) == ["python", script.name]
    suggested = err[err.index("headway run") :].strip()
    assert shlex.split(suggested) == ["headway", "run", str(script.with_suffix(".yaml"))]
