"""Plans, prices, devices, sites, first job files and comparisons from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLAN = str(ROOT / "jobs" / "plans" / "bert-large.yaml")


def test_a_plan_names_its_choice_and_every_loser(headway):
    code, out, _err = headway("plan", PLAN)
    assert code == 0
    assert "chosen: the cheapest that meets the limits" in out
    assert "unpriced: eu-west-3/p4d-od" in out
    assert "snapshot 2026-07-20" in out
    assert "the snapshot has no on-demand price of p4d.24xlarge in eu-west-3" in out


def test_a_plan_that_nothing_meets_exits_with_5(headway):
    code, out, _err = headway("plan", PLAN, "--set", "limits.deadline=1m")
    assert code == 5
    assert "no offering meets the limits" in out


def test_a_plan_needs_a_model(headway, tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\nname: x\nentrypoint: python x.py\n")
    code, _out, err = headway("plan", str(job))
    assert code == 2
    assert "workload.model" in err


def test_an_unknown_site_in_the_limits_is_named(headway):
    code, _out, err = headway("plan", PLAN, "--set", "limits.sites=[mars]")
    assert code == 2
    assert "mars" in err


@pytest.mark.parametrize("form", ["json", "yaml", "csv"])
def test_every_form_of_the_catalogue(headway, form):
    for words in (["plan", PLAN], ["prices", "list"], ["accelerators"], ["sites", "list"]):
        code, out, _err = headway(*words, "-o", form)
        assert code == 0, words
        assert out
        if form == "json":
            assert json.loads(out)["schema_version"] == 1


def test_the_price_of_a_day(headway):
    def p5(day):
        _code, out, _err = headway("prices", "list", "--region", "us-east-1", "--at", day, "-o", "json")
        rows = json.loads(out)["prices"]
        return [
            row["price_per_hour"]
            for row in rows
            if (row["instance"], row["capacity"]) == ("p5.48xlarge", "on-demand")
        ]

    assert p5("2025-05-01") == ["98.32"]
    assert p5("2025-07-01") == ["55.04"]


def test_an_unpriced_region_and_an_unknown_type_are_not_found(headway):
    for words in (
        ["prices", "list", "--region", "eu-west-3"],
        ["prices", "show", "p5.48xlarge", "--region", "eu-west-3"],
        ["prices", "show", "p5.49xlarge"],
    ):
        code, _out, _err = headway(*words)
        assert code == 3
    assert headway("prices", "list", "--at", "yesterday")[0] == 2


CLOUD = (
    "provider,region,instance,price_per_hour,currency,accelerator,accelerators\n"
    "lambda,us-west-1,gpu_8x_h100,23.92,USD,h100-sxm,8\n"
)


def test_imports_are_listed_named_replaced_and_forgotten(headway, home, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "prices.csv").write_text(CLOUD.replace("23.92", "2" if folder == "a" else "3"))
    first, second = (str(tmp_path / folder / "prices.csv") for folder in ("a", "b"))
    assert "nothing was imported" in headway("prices", "imports")[1]
    code, out, err = headway("prices", "import", first)
    assert (code, err) == (0, "")
    printed = out.split()[-1]
    assert len(printed) == 12
    assert f"sha256 {printed}" in headway("prices", "list", "--region", "us-west-1")[2]
    code, out, _err = headway("prices", "import", first)
    assert code == 0
    assert "unchanged" in out
    assert out.split()[-1] == printed
    _code, out, err = headway("prices", "import", second, "-o", "json")
    assert "replaces 1 prices imported on 20" in err
    assert first in err
    replaced = json.loads(out)
    assert replaced["replaced"]["file"] == first
    assert headway("prices", "import", first, "--as", "of a", "-o", "csv")[0] == 0
    rows = json.loads(headway("prices", "imports", "-o", "json")[1])["imports"]
    assert [(row["name"], row["prices"], row["file"]) for row in rows] == [
        ("prices", 1, second),
        ("of a", 1, first),
    ]
    assert "of a" in headway("prices", "imports")[1]
    shown = json.loads(headway("prices", "show", "gpu_8x_h100", "-o", "json")[1])["prices"]
    assert [row["price_per_hour"] for row in shown] == ["2"]
    found = json.loads(headway("prices", "list", "--accelerated", "-o", "json")[1])["prices"]
    assert "lambda" in {row["provider"] for row in found}
    code, out, _err = headway("prices", "forget", "of a")
    assert code == 0
    assert "are no longer in force" in out
    assert headway("prices", "forget", "of a")[0] == 3
    assert headway("prices", "diff", replaced["sha256"][:12])[0] == 0
    assert headway("prices", "diff", "0000000000")[0] == 3
    assert headway("prices", "import", str(tmp_path / "absent.csv"))[0] == 3
    assert headway("prices", "import", str(tmp_path))[0] == 2


def test_an_import_leaves_a_damaged_snapshot_aside_and_says_so(headway, home, tmp_path):
    (home / "prices").mkdir(parents=True)
    (home / "prices" / "current").write_bytes(b"\xff")
    code, _out, err = headway("prices", "list")
    assert code == 1
    assert str(home / "prices" / "current") in err
    assert "Traceback" not in err
    (tmp_path / "a.csv").write_text(CLOUD)
    code, _out, err = headway("prices", "import", str(tmp_path / "a.csv"))
    assert code == 0
    assert "left aside" in err
    assert str(home / "prices" / "current") in err
    assert headway("prices", "list")[0] == 0


def test_list_prices_name_the_price_book_that_is_not_in_them(headway, home):
    words = ["prices", "list", "--region", "us-east-1"]
    assert "price book" not in headway(*words)[2]
    home.mkdir()
    (home / "prices.yaml").write_text("version: 1\nlayers:\n- {kind: discount, name: a, percent: 5}\n")
    for each in (words, ["prices", "show", "p5.48xlarge"]):
        _code, out, err = headway(*each)
        assert f"your price book {home / 'prices.yaml'} is not in them" in err
        assert "price book" not in out
        assert json.loads(headway(*each, "-o", "json")[1])["price_book"] == str(home / "prices.yaml")


def test_a_profile_that_is_not_there_is_told(headway, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nope")
    code, _out, err = headway("prices", "refresh")
    assert code == 7
    assert "nope" in err
    assert "Traceback" not in err


def test_devices_say_what_they_lack(headway):
    _code, out, _err = headway("accelerators", "-o", "json")
    rows = {row["key"]: row for row in json.loads(out)["accelerators"]}
    assert "bf16" in rows["v100-16"]["lacks"]
    assert {"GPU", "CPU", "TPU", "NPU"} <= {row["kind"] for row in rows.values()}
    _code, out, _err = headway("accelerators", "--kind", "tpu", "-o", "json")
    assert {row["kind"] for row in json.loads(out)["accelerators"]} == {"TPU"}


def test_an_owned_site_is_priced_added_and_then_planned_with(headway, home):
    words = ["sites", "add", "owned", "dc9", "--price", "400000 USD", "--gpus", "8"]
    words += ["--watts", "7750", "--tariff", "0.09 USD", "--use", "0.7"]
    code, _out, err = headway(*words)
    assert code == 0
    shares = [line.split()[1] for line in err.splitlines() if line.startswith("used")]
    assert shares == ["30%", "60%", "70%", "90%"]
    _code, out, _err = headway("plan", PLAN, "-o", "json")
    assert [row["offering"] for row in json.loads(out)["offerings"] if row["offering"] != "here"] == [
        "dc9/gpus"
    ]
    before = (home / "sites.yaml").read_text()
    assert headway(*words)[0] == 2, "the name is taken"
    assert (home / "sites.yaml").read_text() == before, "nothing half-written"
    assert [path.name for path in home.glob("sites*")] == ["sites.yaml"]


@pytest.mark.parametrize(
    "change",
    [
        {"--price": "cheap"},
        {"--tariff": "0.09 EUR"},
        {"--gpus": "0"},
        {"--use": "2"},
        {"--accelerator": "h1000"},
    ],
)
def test_a_wrong_figure_for_a_site_writes_nothing(headway, home, change):
    figures = {
        "--price": "400000 USD",
        "--gpus": "8",
        "--watts": "7750",
        "--tariff": "0.09 USD",
        "--use": "0.7",
    } | change
    words = [word for pair in figures.items() for word in pair]
    assert headway("sites", "add", "owned", "dc9", *words)[0] == 2
    assert not (home / "sites.yaml").exists()


def test_the_figures_of_here_name_their_sources(headway):
    code, out, _err = headway("sites", "show", "here", "-o", "json")
    assert code == 0
    assert all(row["source"] for row in json.loads(out)["figures"])
    assert headway("sites", "show", "moon")[0] == 3


@pytest.mark.parametrize(
    ("source", "kind", "workers", "model"),
    [
        ("import headway.train\nheadway.train.run(lambda c: None)\n", "headway.train", 2, None),
        ("from ray.train import ScalingConfig\nScalingConfig(num_workers=3)\n", "Ray Train", 3, None),
        ("print('hi')\n", "plain program", 1, None),
        ("import ray.train\nname = 'bert-large-uncased'\n", "Ray Train", 1, "bert-large"),
    ],
)
def test_init_looks_at_a_script_and_writes_a_job_that_loads(headway, tmp_path, source, kind, workers, model):
    from headway.spec.files import load_job

    script = tmp_path / "mein skript (1).py"
    script.write_text(source)
    code, out, err = headway("init", str(script))
    assert code == 0
    assert kind in err
    spec = load_job(out.strip()).spec
    assert spec.workers == workers
    assert (spec.workload.model.factory if spec.workload else None) == model
    assert headway("init", str(script))[0] == 2, "an existing file is kept"
    assert headway("init", str(script), "--force")[0] == 0


def test_init_says_where_a_script_is_broken_and_never_runs_it(headway, tmp_path):
    script = tmp_path / "broken.py"
    script.write_text("raise SystemExit('ran')\ndef (\n")
    code, _out, err = headway("init", str(script))
    assert code == 2
    assert "broken.py:2:" in err
    assert headway("init", str(tmp_path / "absent.py"))[0] == 3
    assert list(tmp_path.glob("*.yaml")) == []


def test_a_run_without_a_model_cannot_be_compared_and_says_why(headway, finished_run):
    code, _out, err = headway("compare", "tiny")
    assert code == 2
    assert "names no model" in err


def test_turning_the_machine_off_needs_a_word_and_shows_the_amount(headway, tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\nname: x\nentrypoint: echo x\n")
    code, _out, err = headway("run", str(job), "--shutdown-when-done")
    assert code == 2
    assert "an hour not spent" in err
    assert "--yes" in err
    assert json.loads(headway("ls", "-o", "json")[1])["runs"] == []
