"""Each malformed file is refused with every problem at its place, and with what to write instead."""

import pickle
import re
from pathlib import Path

import pytest

from headway.spec.files import load_job, load_sites
from headway.spec.problems import SpecProblems

BAD = Path(__file__).parent / "bad"
FILES = sorted(BAD.glob("*.yaml"))
SAYS_IT_ITSELF = {"spec.unknown_key_near", "spec.not_choice_near"}


def expected(path):
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    assert first.startswith("# expect: ")
    found = re.findall(r"(\d+):(\d+) ([a-z0-9_.]+)", first)
    return [(int(line), int(column), message) for line, column, message in found]


def refusal(path):
    load = load_sites if path.name.startswith("sites-") else load_job
    with pytest.raises(SpecProblems) as caught:
        load(path)
    return caught.value


def test_there_are_many_kinds():
    assert len(FILES) >= 45
    assert len({message for path in FILES for _, _, message in expected(path)}) >= 45


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_refused_at_the_right_place(path):
    error = refusal(path)
    assert [(one.line, one.column, one.message) for one in error.problems] == expected(path)
    assert error.exit_code == 2
    assert error.code == "E-SPEC-03"
    for problem in error.problems:
        assert problem.hint or problem.message in SAYS_IT_ITSELF
        assert not re.search(r"\{\w+\}", problem.text.replace("{from, to, price}", ""))
        assert problem.text.isprintable()
        assert f"{path}:{problem.line}:{problem.column} " in error.render()
    again = pickle.loads(pickle.dumps(error))
    assert again.render() == error.render()
    assert again.problems == error.problems


@pytest.mark.parametrize("path", [path for path in FILES if "env-" in path.name or "credential" in path.name])
def test_a_credential_is_never_repeated(path):
    written = path.read_text(encoding="utf-8")
    said = str(refusal(path)) + repr(refusal(path).problems)
    for secret in re.findall(r"AKIA\w+|hf_\w+|sk-\w+|wJalr\S+|BEGIN RSA", written):
        assert secret not in said


RAW = {
    "not-utf8": (b"version: 1\nname: a\xff\n", (2, 8, "spec.not_utf8")),
    "utf16": ("version: 1\n".encode("utf-16"), (1, 1, "spec.not_utf8")),
    "nothing": (b"", (0, 0, "spec.empty_file")),
    "only-comment": (b"# nothing\n", (0, 0, "spec.empty_file")),
    "too-large": (b"#" * 1_000_001, (0, 0, "spec.file_too_large")),
    "nul": (b"name: \x00\n", (1, 7, "spec.yaml_character")),
    "wide-character-before": ("tеam: ä: b\n".encode(), (1, 8, "spec.yaml_colon")),
    "windows-lines": (b"version: 1\r\nname: a\r\nentrypoint: t\r\nzebra: 1\r\n", (4, 1, "spec.unknown_key")),
}


@pytest.mark.parametrize("name", RAW)
def test_files_that_hold_no_comment(name, tmp_path):
    raw, place = RAW[name]
    path = tmp_path / "job.yaml"
    path.write_bytes(raw)
    error = refusal(path)
    assert [(one.line, one.column, one.message) for one in error.problems] == [place]
    assert error.problems[0].hint


def test_a_folder_is_no_file(tmp_path):
    error = refusal(tmp_path)
    assert error.problems[0].message == "spec.is_folder"
    assert error.render().startswith(f"{tmp_path}  is a folder")


def test_several_problems_read_as_designed(monkeypatch):
    monkeypatch.setenv("HEADWAY_LANG", "en")
    monkeypatch.chdir(BAD)
    golden = Path(__file__).parents[2] / "golden" / "spec" / "several-problems.txt"
    assert refusal(Path("several-problems.yaml")).render() + "\n" == golden.read_text(encoding="utf-8")
