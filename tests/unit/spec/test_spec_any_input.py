"""Whatever stands in a file, the answer is a spec or a list of problems, never another error."""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.spec.files import load_job, load_sites
from headway.spec.job import JobSpec
from headway.spec.loader import Document, parse, read
from headway.spec.positions import Positions
from headway.spec.problems import SpecProblems
from headway.spec.schema import job_schema, sites_schema
from headway.spec.sites import SitesSpec
from headway.spec.validation import validate

HERE = Path(__file__).parent
KINDS = {
    "job": (HERE / "sample.yaml", JobSpec, load_job, jsonschema.Draft202012Validator(job_schema())),
    "sites": (HERE / "sites.yaml", SitesSpec, load_sites, jsonschema.Draft202012Validator(sites_schema())),
}
QUANTITIES = [
    "1GB",
    "1h",
    "1 USD",
    "1 EUR",
    "1..2",
    "env",
    "aws",
    "owned",
    "lora",
    "any",
    "here",
    "07:00",
    "a:b",
    "",
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(QUANTITIES)
)
KEYS = st.text(max_size=6) | st.sampled_from(
    ["kind", "name", "from", "aws", "owned", "lora", "price", "windows"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, below in value.items():
            yield from places(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from places(below, (*path, index))


def outcome(attempt):
    try:
        return attempt(), ()
    except SpecProblems as error:
        return None, error.problems


def replaced(data, path, value):
    data = copy.deepcopy(data)
    here = data
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    return data


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=300, deadline=None)
@given(draw=st.data())
def test_any_value_in_any_place(kind, draw):
    path, model, _, schema = KINDS[kind]
    data = read(path).data
    place = draw.draw(st.sampled_from([place for place in places(data) if place]))
    data = replaced(data, place, draw.draw(VALUES))
    spec, problems = outcome(lambda: validate(model, Document(data, Positions("f"), [], "")))
    if spec is None:
        assert problems
        assert all(problem.text.isprintable() for problem in problems)
    else:
        assert model.model_validate(spec.to_data()) == spec
        # Whatever is accepted, an editor that reads the schema does not underline.
        schema.validate(data)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None)
@given(draw=st.data())
def test_any_change_of_the_text(kind, draw, tmp_path_factory):
    path, _, load, _ = KINDS[kind]
    raw = path.read_bytes()
    start = draw.draw(st.integers(0, len(raw)))
    end = draw.draw(st.integers(start, min(len(raw), start + 20)))
    changed = tmp_path_factory.mktemp("any") / "f.yaml"
    changed.write_bytes(raw[:start] + draw.draw(st.binary(max_size=6)) + raw[end:])
    _, problems = outcome(lambda: load(changed))
    lines = re.split(r"\r\n|\r|\n", changed.read_bytes().decode(errors="replace"))
    for problem in problems:
        assert problem.line <= len(lines)
        if problem.line:
            assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=8), VALUES, min_size=1, max_size=4))
def test_json_is_read_as_yaml(data):
    document = parse(json.dumps(data), "f")
    if not document.problems:
        assert document.data == data
