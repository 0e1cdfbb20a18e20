"""The committed JSON Schemas are current, valid, and say what the loader says."""

import json
from pathlib import Path

import jsonschema
import pytest

from headway.spec.files import load_job, load_sites
from headway.spec.loader import read
from headway.spec.schema import FOLDER, job_schema, main, rendered, sites_schema

HERE = Path(__file__).parent


def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["job.schema.json", "sites.schema.json", "book.schema.json"])
def test_committed_schemas_are_current(name):
    # Renew with: python -m headway.spec.schema --write
    assert (FOLDER / name).read_text(encoding="utf-8") == rendered()[name]


def test_samples_validate():
    validator(job_schema()).validate(read(HERE / "sample.yaml").data)
    validator(sites_schema()).validate(read(HERE / "sites.yaml").data)


def test_what_a_spec_writes_validates():
    validator(job_schema()).validate(load_job(HERE / "sample.yaml").spec.to_data())
    validator(sites_schema()).validate(load_sites(HERE / "sites.yaml").spec.to_data())


@pytest.mark.parametrize("method", ["full", "lora", {"lora": {"rank": 4}}, {"qlora": {}}])
def test_methods_validate(method):
    job = {"version": 1, "name": "a", "entrypoint": "t", "workload": {"method": method}}
    validator(job_schema()).validate(job)


# What a schema cannot say: checks across keys, digests of text, the reader's own refusals.
SEEN_BY_SCHEMA = [
    "unknown-key",
    "unknown-nested-key",
    "missing-name",
    "version-2",
    "gpus-word",
    "workers-fraction",
    "workers-zero",
    "size-unit",
    "deadline-bare",
    "budget-bare",
    "exact-yes",
    "goal-typo",
    "precision-text",
    "method-unknown",
    "method-both",
    "method-empty",
    "method-rank",
    "name-long",
    "env-number",
    "no-value",
    "retries-absurd",
    "sites-kind-unknown",
    "sites-no-pools",
    "sites-capacity",
    "sites-discount",
    "sites-pue",
    "sites-tariff-bare",
]


@pytest.mark.parametrize("name", SEEN_BY_SCHEMA)
def test_bad_files_do_not_validate(name):
    schema = sites_schema() if name.startswith("sites-") else job_schema()
    assert not validator(schema).is_valid(read(HERE / "bad" / f"{name}.yaml").data)


def test_the_command(capsys, monkeypatch, tmp_path):
    assert main([]) == 0
    assert '"Headway job"' in capsys.readouterr().out
    assert main(["--wrong"]) == 2
    monkeypatch.setattr("headway.spec.schema.FOLDER", tmp_path)
    assert main(["--write"]) == 0
    assert json.loads((tmp_path / "job.schema.json").read_text())["title"] == "Headway job"
