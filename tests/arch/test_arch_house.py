"""The house keeps its shape: roots, sizes, names, what is imported when, and no floats near money."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLATFORM = ROOT / "platform"
PACKAGE = PLATFORM / "headway"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]
HEAVY = [
    "sqlalchemy",
    "ray",
    "torch",
    "pydantic",
    "yaml",
    "rich",
    "alembic",
    "psutil",
    "numpy",
    "transformers",
]


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def test_platform_is_a_folder_that_python_never_imports():
    assert [path.name for path in PLATFORM.iterdir() if path.name != "__pycache__"] == ["headway"]


@pytest.mark.parametrize("path", [None, ".", str(ROOT)])
def test_the_standard_librarys_platform_is_not_shadowed(path):
    env = (
        {**os.environ, "PYTHONPATH": path}
        if path
        else {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    )
    done = subprocess.run(
        [sys.executable, "-c", "import platform; print(platform.system()); print(platform.__file__)"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    system, file = done.stdout.split("\n")[:2]
    assert system == os.uname().sysname
    assert not file.startswith(str(ROOT / "platform"))


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_a_module_is_at_most_500_lines_and_a_function_60(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 60, f"{path.name}:{node.lineno} {node.name}"


def test_a_room_is_named_for_what_is_in_it():
    forbidden = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert [name for name in NAMES if set(Path(name).with_suffix("").parts) & forbidden] == []


def is_typing_only(node):
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("__init__.py")), ids=lambda p: str(p.parent.relative_to(PLATFORM))
)
def test_a_packages_init_imports_nothing(path):
    for node in tree(path).body:
        if isinstance(node, ast.ImportFrom):
            assert node.module in {"__future__", "typing"}, ast.unparse(node)
            continue
        public = {"train": "run", "memory": "apply"}  # what users import, each importing its room when called
        if path.parent.name in public and isinstance(node, ast.FunctionDef):
            assert node.name == public[path.parent.name]
            continue
        said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert said or isinstance(node, ast.Assign) or is_typing_only(node), ast.unparse(node)


def test_every_folder_of_code_is_a_package():
    folders = {path.parent for path in MODULES}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def loaded(code, *words):
    program = f"import sys, json; sys.argv = {['headway', *words]!r}\n{code}"
    ending = f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]), file=sys.stderr)"
    program = f"{program.splitlines()[0]}\ntry:\n    {code}\nexcept SystemExit:\n    pass\n{ending}"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["reciept"], ["run", "--help"], ["completion", "zsh"]]
)
def test_help_imports_nothing_heavy(words):
    assert loaded("from headway.cli.main import main; main()", *words) == []


def test_the_package_itself_imports_nothing_heavy():
    assert loaded("import headway, headway.train, headway.runs, headway.costing") == []


def test_reading_the_ledger_needs_no_ray_no_torch_and_no_migrations(tmp_path):
    code = (
        f"import os, pathlib; os.environ['HEADWAY_HOME'] = {str(tmp_path)!r};"
        " from headway.runs.store import Ledger;"
        " Ledger.at(pathlib.Path(os.environ['HEADWAY_HOME'], 'ledger.db'))"
    )
    loaded(code)
    again = loaded("from headway.cli.main import main; " + code + "; main()", "ls")
    assert {"ray", "torch", "numpy", "transformers", "alembic", "rich"}.isdisjoint(again)


@pytest.mark.parametrize("path", sorted((PACKAGE / "costing").glob("*.py")), ids=lambda path: path.name)
def test_no_float_touches_money(path):
    for node in ast.walk(tree(path)):
        assert not (isinstance(node, ast.Name) and node.id == "float"), f"line {node.lineno}"
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), f"line {node.lineno}"


PURE = ["costing", "reports"]
PURE_MODULES = [
    *(path for room in PURE for path in sorted((PACKAGE / room).glob("*.py"))),
    *(PACKAGE / "runs" / f"{name}.py" for name in ("states", "ids", "events", "rows")),
    PACKAGE / "catalog" / "types.py",
    PACKAGE / "backends" / "outcome.py",
    *(PACKAGE / "backends" / "kubernetes" / name for name in ("shape.py", "manifests.py", "observed.py")),
    PACKAGE / "runs" / "telling.py",
    PACKAGE / "controller" / "cluster_decision.py",
]


@pytest.mark.parametrize("path", PURE_MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_pure_room_has_no_clock_no_files_and_no_log(path):
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            assert name not in {"open", "print", "now", "utcnow", "today", "read_text", "write_text"}, (
                node.lineno
            )
    assert found.isdisjoint(
        {"time", "os", "pathlib", "logging", "random", "secrets", "uuid", "subprocess", "socket"}
    )


def test_test_files_have_names_of_their_own():
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
    assert list((ROOT / "tests").rglob("__init__.py")) == []
