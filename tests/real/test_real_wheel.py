"""The wheel carries all it needs, and works outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built now and unpacked as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPO,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    target = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def _python(site: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site), "HEADWAY_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_what_is_imported_is_the_wheel(site: Path, tmp_path: Path) -> None:
    done = _python(site, tmp_path, "-c", "import headway; print(headway.__file__)")
    assert done.stdout.startswith(str(site))


def test_it_carries_texts_data_schemas_jobs_and_types(site: Path) -> None:
    package = site / "headway"
    for name in (
        "locale/en.toml",
        "catalog/data/here.toml",
        "catalog/data/grid_carbon.csv",
        "spec/schemas/job.schema.json",
        "samples/jobs/minilm-docs.yaml",
        "samples/jobs/minilm_mlm.py",
        "py.typed",
    ):
        assert (package / name).is_file(), name
    assert not list(site.glob("platform*"))


def test_a_run_works_from_the_wheel(site: Path, tmp_path: Path) -> None:
    (tmp_path / "été 2026.py").write_text("print('bonjour')\n", encoding="utf-8")
    job = tmp_path / "mon travail.yaml"
    job.write_text("version: 1\nname: été\nentrypoint: python 'été 2026.py'\n", encoding="utf-8")
    done = _python(site, tmp_path, "-m", "headway.cli.main", "run", str(job))
    assert done.returncode == 0, done.stderr
    assert "RECEIPT  ete-" in done.stdout


def test_a_sample_is_found_by_its_name(site: Path, tmp_path: Path) -> None:
    done = _python(
        site, tmp_path, "-m", "headway.cli.main", "run", "minilm-docs", "--set", "needs.workers=999"
    )
    assert done.returncode == 5, done.stderr
    assert "999 cores" in done.stderr
