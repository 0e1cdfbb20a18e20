"""The error tree keeps its promises: codes, exit codes, pickling, and a text for every message."""

import ast
import importlib
import pickle
import pkgutil
import re
import string
from pathlib import Path
from typing import get_args

import pytest

import headway
from headway.cli.main import COMMANDS
from headway.costing.waste import Waste
from headway.errors import HeadwayError
from headway.messages import FALLBACK, catalogue, find, languages, text
from headway.meter import machine
from headway.planner.advise import HOURS
from headway.planner.types import Verdict
from headway.runs.states import FailureClass, RunState
from headway.spec.problems import Problem, SpecProblems
from headway.spec.sites import Capacity

ROOT = Path(headway.__file__).parent
EN = catalogue(FALLBACK)
DOCUMENTED = range(11)


def tree():
    for module in pkgutil.walk_packages([str(ROOT)], "headway."):
        if not module.name.startswith(("headway.train", "headway.runs.migrations.versions")):
            importlib.import_module(module.name)
    todo, found = [HeadwayError], []
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo.extend(kind.__subclasses__())
    return sorted(
        (kind for kind in set(found) if kind.__module__.startswith("headway")), key=lambda k: k.__name__
    )


TREE = tree()


def test_the_tree_is_there():
    assert len(TREE) >= 14


def test_every_class_has_a_code_of_its_own():
    codes = [kind.__dict__.get("code") for kind in TREE]
    assert None not in codes
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"E-[A-Z]{3,4}-\d\d", code) for code in codes)


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_exit_code_is_a_documented_one(kind):
    assert kind.exit_code in DOCUMENTED
    assert kind.exit_code != 0
    assert kind.__doc__


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_every_error_survives_the_way_between_processes(kind):
    if kind is SpecProblems:
        error = SpecProblems([Problem("f", 1, 2, ("a", 0), "spec.missing", {})])
    elif "__init__" in kind.__dict__ and kind is not HeadwayError:
        pytest.fail(f"{kind.__name__} has its own constructor: say here how it is made")
    else:
        error = kind("runs.not_found", run="x-1")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.hint, again.values) == (str(error), error.hint, error.values)
    assert (again.code, again.exit_code) == (error.code, error.exit_code)


def test_a_message_that_lacks_a_value_still_shows():
    assert "{run" in str(HeadwayError("runs.not_found"))
    assert str(HeadwayError("no.such.message", a=1)) == "no.such.message {'a': 1}"
    assert find("no.such.message") is None


CALLS = {"text", "find"}
ERRORS = {kind.__name__ for kind in TREE} - {"SpecProblems"}
OTHERS = {"Check": 1, "UnitCost": 0, "Waiting": 0}


def literals():
    """Every message id that the code names, with its place."""
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        ours = "from headway.messages import" in source or "headway.errors" in source
        for node in ast.walk(ast.parse(source)):
            if not ours or not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if isinstance(node.func, ast.Attribute) and name in CALLS:
                continue  # str.find and the like
            position = 0 if name in CALLS | ERRORS else OTHERS.get(name)
            if position is None or len(node.args) <= position:
                continue
            for argument in (
                [node.args[position].body, node.args[position].orelse]
                if isinstance(node.args[position], ast.IfExp)
                else [node.args[position]]
            ):
                yield path.relative_to(ROOT), node.lineno, argument


def test_every_message_the_code_names_is_in_the_catalogue():
    named = [
        (f"{path}:{number}", argument.value)
        for path, number, argument in literals()
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    assert len(named) > 80
    assert [(place, message) for place, message in named if message not in EN] == []


def test_every_family_of_messages_the_code_builds_is_known_here():
    families = {
        argument.values[0].value
        for _path, _number, argument in literals()
        if isinstance(argument, ast.JoinedStr) and isinstance(argument.values[0], ast.Constant)
    }
    known = {"units.bad_", "state.", "config.", "ls.", "show.", "cli.", "waste.", "doctor.", "receipt."}
    known |= {
        "plan.",
        "verdict.",
        "prices.",
        "accelerators.",
        "sites.",
        "compare.",
        "init.",
        "techniques.head_",
        "dashboard.capacity_",
        "whatif.",
        "breakeven.head_",
        "services.state_",
        *(f"advise.{part}_" for part in ("input", "bound", "change", "head")),
    }
    assert families <= known | {"hint.", "method.", "metric.", "unit."}, "add its members to the test below"


@pytest.mark.parametrize(
    "message",
    [
        *(f"state.{state.value}" for state in RunState),
        *(f"cli.{command}" for command in COMMANDS),
        *(f"waste.{waste.value}" for waste in Waste),
        *(f"services.state_{state}" for state in ("up", "stopped", "silent")),
        *(f"units.bad_{kind}" for kind in ("bytes", "seconds", "joules")),
        *(f"config.{name}" for name in ("name", "value", "origin")),
        *(f"ls.{name}" for name in ("run", "state", "team", "created", "cost")),
        *(f"show.{name}" for name in ("attempt", "state", "started", "ended", "checkpoint")),
        *(f"receipt.{name}" for name in ("compute", "energy")),
        *(f"method.{name}" for name in ("allocation", "rapl", "model", "procfs")),
        *(f"techniques.head_{name}" for name in ("name", "kind", "exact", "saves", "costs")),
        *(f"whatif.{name}" for name in ("before", "after", "time", "cost", "difference")),
        *(
            f"breakeven.head_{name}"
            for name in ("rented", "price", "hours", "use", "owned", "rented_total", "saves")
        ),
        *(f"advise.change_{name}" for name in HOURS),
        *(f"advise.bound_{name}" for name in ("data", "communication", "compute")),
        *(f"advise.input_{name}" for name in ("runs", "hour", "day")),
        *(
            f"advise.head_{name}"
            for name in ("what", "where", "how", "time", "cost", "kwh", "hours", "total")
        ),
        *(f"compare.{name}" for name in ("kind", "watts", "cannot")),
        *(f"dashboard.capacity_{name}" for name in (*get_args(Capacity), "owned")),
        *(f"unit.{name}" for name in ("core-hour", "kWh")),
        *(f"doctor.{name}" for name in ("yes", "no", "unknown")),
        *(f"init.{kind}" for kind in ("headway", "ray-train", "plain")),
        *(f"compare.{name}" for name in ("time", "cost", "kwh", "grams")),
        *(f"prices.{name}" for name in ("instance", "region", "capacity", "price", "from", "to")),
        *(f"sites.{name}" for name in ("offering", "capacity", "machine", "price", "basis")),
        *(
            f"accelerators.{name}"
            for name in (
                "key",
                "kind",
                "memory",
                "bandwidth",
                "fp32",
                "bf16",
                "watts",
                "flops_per_watt",
                "lacks",
            )
        ),
        *(f"verdict.{verdict.value}" for verdict in Verdict),
        *(f"plan.{name}" for name in ("where", "machines", "recipe", "fit", "time", "cost", "kwh", "carbon")),
        *(f"plan.wins_if_{what}{upto}" for what in ("time", "carbon") for upto in ("", "_between")),
        *(f"plan.chosen_{goal}" for goal in ("cheapest", "fastest", "greenest", "balanced")),
    ],
)
def test_every_member_of_a_family_is_in_the_catalogue(message):
    assert EN.get(message)


def test_every_reason_that_the_planner_gives_is_said_in_every_language():
    given = {
        node.value
        for path in (ROOT / "planner").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"plan\.[a-z_]*[a-z]", node.value)
    }
    assert len(given) >= 18
    for language in languages():
        assert [message for message in sorted(given) if message not in catalogue(language)] == [], language


def test_everything_that_doctor_looks_for_has_a_name(monkeypatch, tmp_path):
    for name in ("_torch", "_tensorflow", "_ray"):
        monkeypatch.setattr(machine, name, lambda name=name: machine.Finding(name, None, ""))
    source = ast.parse((ROOT / "meter" / "machine.py").read_text(encoding="utf-8"))
    names = {
        node.args[0].value
        for node in ast.walk(source)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in {"Finding", "_library"}
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(names) >= 12
    assert [name for name in names if f"doctor.{name}" not in EN] == []


def test_a_failure_class_is_one_word_everywhere():
    from headway.runs.states import DEFAULT_RETRIES
    from headway.spec.job import JobSpec

    assert {failure.value for failure in DEFAULT_RETRIES} == {failure.value for failure in FailureClass}
    retries = JobSpec.model_fields["retries"].annotation
    names = {field.alias or name for name, field in retries.model_fields.items()}
    assert names <= {failure.value for failure in FailureClass}


def test_every_text_can_be_filled_and_every_hint_belongs_to_a_message():
    for message, template in EN.items():
        fields = [field for _text, field, _spec, _conversion in string.Formatter().parse(template) if field]
        assert all(re.fullmatch(r"[a-z_]+", field) for field in fields), message
        assert text(message, **dict.fromkeys(fields, "x"))
        if message.startswith("hint."):
            assert message.removeprefix("hint.") in EN, message


def test_every_translation_fills_the_same_places():
    assert FALLBACK in languages()

    def fields(template):
        return {field for _text, field, _spec, _conversion in string.Formatter().parse(template) if field}

    for language in languages():
        for message, template in catalogue(language).items():
            assert fields(template) == fields(EN[message]), (language, message)
