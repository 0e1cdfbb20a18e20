"""No lock-in: scripts that never heard of us are measured, and ours run without us."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
DEMO = ["jobs/minilm_mlm.py", "--steps", "4", "--held-out", "16", "--seq-len", "32", "--batch-size", "2"]

pytestmark = pytest.mark.real


def test_the_demo_script_runs_with_plain_python(tmp_path: Path) -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWAY_", "RAY_"))}
    done = subprocess.run(
        [str(BIN / "python"), str(REPO / DEMO[0]), *DEMO[1:]],
        cwd=tmp_path,
        env={**env, "RAY_TMPDIR": "/tmp/hwplain"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "finished; checkpoints are in" in done.stdout
    manifests = list((tmp_path / "headway-runs").glob("*/checkpoint_*/manifest-rank-*.json"))
    assert len(manifests) == 2


def test_the_demo_script_runs_by_ray_job_submit_on_a_plain_ray(
    other_ray: dict[str, str], tmp_path: Path
) -> None:
    env = {key: value for key, value in other_ray.items() if key != "RAY_ADDRESS"}
    deadline = time.monotonic() + 60
    while True:
        done = subprocess.run(
            [
                *(str(BIN / "ray"), "job", "submit", "--address", "http://127.0.0.1:28265"),
                *("--working-dir", str(REPO / "jobs"), "--runtime-env-json"),
                '{"py_modules": ["' + str(REPO / "platform" / "headway") + '"]}',
                *("--", "python", "minilm_mlm.py", *DEMO[1:]),
            ],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if "Failed to connect" not in done.stderr or time.monotonic() > deadline:
            break
        time.sleep(2)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "succeeded" in (done.stdout + done.stderr)


def test_workers_of_a_ray_that_is_there_get_our_package(other_ray: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "where.py"
    script.write_text(
        "import headway.train\n"
        "def loop(context):\n"
        "    import headway\n"
        "    print('WORKER HAS', headway.__file__, flush=True)\n"
        "headway.train.run(loop, {'workers': 1})\n"
    )
    done = subprocess.run(
        [str(BIN / "python"), str(script)],
        cwd=tmp_path,
        env=other_ray,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    line = next(line for line in (done.stdout + done.stderr).splitlines() if "WORKER HAS" in line)
    assert "py_modules" in line, line


def test_a_run_of_ours_is_not_disturbed_by_another_ray(other_ray: dict[str, str], tmp_path: Path) -> None:
    env = {**os.environ, "HEADWAY_HOME": str(tmp_path / "home")}
    env.pop("RAY_ADDRESS", None)
    done = subprocess.run(
        [str(BIN / "headway"), "run", "plain_ray.yaml"],
        cwd=REPO / "tests" / "faults" / "jobs",
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    shown = subprocess.run(
        [str(BIN / "headway"), "ls", "-o", "json"], env=env, capture_output=True, text=True, check=True
    )
    import json

    run_id = json.loads(shown.stdout)["runs"][0]["run_id"]
    receipt = json.loads(
        subprocess.run(
            [str(BIN / "headway"), "receipt", run_id, "-o", "json"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert receipt["retained_step"] == 3, "what it reported to Ray reached the ledger"
    assert receipt["energy"]["joules"] > 0
    assert {line["category"] for line in receipt["lines"]} == {"compute", "energy"}


@pytest.mark.parametrize(("code", "state"), [(0, "SUCCEEDED"), (3, "FAILED")])
def test_a_plain_program_is_measured(tmp_path: Path, code: int, state: str) -> None:
    import json

    env = {**os.environ, "HEADWAY_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [str(BIN / "headway"), "run", "plain.yaml", "--", "--seconds", "3", "--exit", str(code)],
        cwd=REPO / "tests" / "faults" / "jobs",
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == (0 if code == 0 else 8)
    listed = subprocess.run(
        [str(BIN / "headway"), "ls", "-o", "json"], env=env, capture_output=True, text=True, check=True
    )
    run = json.loads(listed.stdout)["runs"][0]
    assert run["state"] == state
    receipt = json.loads(
        subprocess.run(
            [str(BIN / "headway"), "receipt", run["run_id"], "-o", "json"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    core_seconds = sum(float(x["quantity"]) for x in receipt["lines"] if x["category"] == "compute") * 3600
    assert 2.9 < core_seconds < 6
    share = {part["class"]: part["share"] for part in receipt["waste"]}
    assert share["useful" if code == 0 else "failed"] > 0.9
    log = subprocess.run(
        [str(BIN / "headway"), "logs", run["run_id"]], env=env, capture_output=True, text=True, check=True
    )
    assert log.stdout == "plain begins\nplain ends\n"
