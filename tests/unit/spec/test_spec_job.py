"""Job files: the designed sample, defaults, overrides, what is not enforced yet."""

import hashlib
import re
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

import headway.spec
from headway.messages import catalogue
from headway.spec.enforced import ENFORCED, not_enforced
from headway.spec.files import load_job
from headway.spec.job import JobSpec
from headway.spec.known import all_paths
from headway.spec.problems import SpecProblems
from headway.spec.quantities import Span
from headway.units import Money

SAMPLE = Path(__file__).parent / "sample.yaml"
SMALL = {"version": 1, "name": "a", "entrypoint": "python t.py"}


def job(**keys):
    return JobSpec.model_validate({**SMALL, **keys})


def written(tmp_path, text):
    path = tmp_path / "job.yaml"
    path.write_text("version: 1\nname: a\nentrypoint: python t.py\n" + text, encoding="utf-8")
    return path


def test_the_designed_sample():
    loaded = load_job(SAMPLE)
    spec = loaded.spec
    assert spec.needs.gpus == Span(1, 16)
    assert spec.workers == 1
    assert spec.workload is not None
    assert spec.workload.samples == 40_000_000
    assert spec.workload.method.kind == "full"
    assert spec.limits.deadline == Decimal(86400)
    assert spec.limits.budget == Money(Decimal(400), "USD")
    assert spec.data is not None
    assert spec.data.size == 120 * 10**9
    assert spec.secrets[0].variable == "HF_TOKEN"
    assert (spec.retries.preemption, spec.retries.hang, spec.retries.oom) == (20, 1, 0)
    assert loaded.text_sha256 == hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    problem = loaded.positions.problem(("needs", "gpus"), "spec.not_gpus", value="1..16")
    assert (problem.line, problem.column) == (15, 15)


def test_a_spec_survives_its_own_data():
    for spec in (
        load_job(SAMPLE).spec,
        job(workload={"method": {"qlora": {"rank": 4, "targets": ["query"]}}}, needs={"gpus": 4}),
        job(workload={"model": {"factory": "bert", "config": {"a": None}}, "epochs": 0.5}),
    ):
        assert JobSpec.model_validate(spec.to_data()) == spec


@pytest.mark.parametrize(
    ("method", "kind", "rank"),
    [("full", "full", None), ("lora", "lora", 8), ("qlora", "qlora", 8), ({"lora": {"rank": 4}}, "lora", 4)],
)
def test_methods(method, kind, rank):
    found = job(workload={"method": method}).workload.method
    assert found.kind == kind
    assert (found.adapter.rank if found.adapter else None) == rank


@pytest.mark.parametrize(
    ("needs", "workers"),
    [({}, 1), ({"workers": 3}, 3), ({"gpus": 4}, 4), ({"gpus": "2..8"}, 2), ({"gpus": 8, "workers": 2}, 2)],
)
def test_workers_resolved(needs, workers):
    assert job(needs=needs).workers == workers


def test_specs_are_frozen():
    with pytest.raises(ValidationError):
        job().name = "b"


def test_a_direct_refusal_reads_well_and_hides_input():
    with pytest.raises(ValidationError) as caught:
        job(env={"KEY": "AKIAIOSFODNN7EXAMPLE"}, needs={"gpus": "eight"})
    assert '"eight" is not a number of GPUs' in str(caught.value)
    assert "AKIA" not in str(caught.value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 0.0])
def test_figures_are_finite_and_in_bounds(bad):
    for keys in ({"epochs": bad}, {"samples": bad}):
        with pytest.raises(ValidationError):
            job(workload=keys)


def test_not_enforced_lists_what_was_set():
    assert not_enforced(job()) == ()
    found = not_enforced(
        job(goal="cheapest", needs={"gpus": 2, "workers": 2}, workload={"method": "lora", "steps": 3})
    )
    assert found == ("needs.gpus",)
    assert not_enforced(job(needs={"gpus": 0}, retries={"user": 1}, env={"A": "b"})) == ()
    assert "limits.deadline" in not_enforced(load_job(SAMPLE).spec)
    assert "expected_duration" in not_enforced(job(expected_duration="2h"))


def test_enforced_names_real_paths():
    assert set(all_paths(JobSpec)) >= ENFORCED


def test_overrides_replace_and_add(tmp_path):
    path = written(tmp_path, "needs: {workers: two}\n")
    loaded = load_job(
        path, ["needs.workers=2", "limits.budget=5 EUR", "labels={a: b}", "workload.samples=4e6"]
    )
    assert loaded.spec.needs.workers == 2
    assert loaded.spec.limits.budget == Money(Decimal(5), "EUR")
    assert loaded.spec.labels == {"a": "b"}
    assert loaded.spec.workload.samples == 4_000_000
    assert loaded.overrides[0] == "needs.workers=2"
    assert loaded.text_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_override_also_mends_what_was_twice_or_empty(tmp_path):
    path = written(tmp_path, "team:\nqueue: a\nqueue: b\n")
    assert load_job(path, ["team=nlp", "queue=c"]).spec.queue == "c"


@pytest.mark.parametrize(
    ("override", "message", "where"),
    [
        ("needs.gpus=eight", "spec.not_gpus", "--set needs.gpus"),
        ("needs.gpu=8", "spec.unknown_key_near", "--set needs.gpu"),
        ("needs.gpus", "spec.override_form", "--set needs.gpus"),
        ("=3", "spec.override_form", '--set ""'),
        ("name.first=x", "spec.override_path", "--set name.first"),
        ("pip=[a", "spec.yaml_unclosed", "--set pip"),
        ("team=!x y", "spec.yaml_tag", "--set team"),
        ("team=~", "spec.no_value", "--set team"),
    ],
)
def test_a_wrong_override_is_named(tmp_path, override, message, where):
    with pytest.raises(SpecProblems) as caught:
        load_job(written(tmp_path, ""), [override])
    assert [(one.message, one.where) for one in caught.value.problems] == [(message, where)]


def test_a_long_list_of_problems_is_cut_short(tmp_path):
    path = written(tmp_path, "".join(f"zebra{index}: 1\n" for index in range(60)))
    with pytest.raises(SpecProblems) as caught:
        load_job(path)
    lines = caught.value.render().splitlines()
    assert len(lines) == 52
    assert lines[-2] == "… and 10 more"
    assert lines[-1].startswith("60 problems")


def test_every_message_is_in_the_catalogue_and_used():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in Path(headway.spec.__path__[0]).glob("*.py")
    )
    used = set(re.findall(r'"(spec\.[a-z0-9_]+)"', sources)) - {"spec.several"}
    known = {name for name in catalogue("en") if name.startswith("spec.")}
    assert used == known
    assert {name[5:] for name in catalogue("en") if name.startswith("hint.spec.")} <= known
