"""The driver's environment, and the end of every process of an attempt."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from headway.backends.local.driver import Launch, clean, driver_environment, end_all, start
from headway.backends.local.processes import marked
from headway.runs.environment import MARK, Supervised

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('up', flush=True); time.sleep(60)"
)
POLITE = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    "print('up', flush=True)\n"
    "while True: time.sleep(0.05)"
)
PARENT = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True);"
    "print(child.pid, flush=True); time.sleep(60)"
)


@pytest.fixture
def launch(tmp_path):
    return Launch(
        run_id="tiny-0123456789",
        attempt=2,
        mark=f"tiny-{os.getpid()}-a2",
        entrypoint="true",
        workdir=tmp_path,
        env={"JOB": "own", "HF_TOKEN": "secret", MARK: "not yours to set"},
        workers=2,
        cpus_per_worker=3,
        folder=tmp_path / "a2",
        storage=tmp_path / "storage",
        lease_epoch=99,
        method="lora",
        recipe='{"micro_batch": 4}',
    )


def test_workers_learn_what_attempt_they_belong_to(launch, monkeypatch):
    env = driver_environment(launch, {"HOME": "/root"})
    assert env[MARK] == launch.mark
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert Supervised.read() == Supervised(
        "tiny-0123456789", 2, launch.spool, launch.control, launch.storage, 99, 2, 3, '{"micro_batch": 4}'
    )


def test_the_jobs_variables_and_secrets_are_passed(launch):
    env = driver_environment(launch, {"HOME": "/root", "JOB": "ours"})
    assert (env["HOME"], env["JOB"], env["HF_TOKEN"]) == ("/root", "own", "secret")


@pytest.mark.parametrize("base", [{"PATH": "/usr/bin"}, {}])
def test_python_is_ours(launch, base):
    env = driver_environment(launch, base)
    first, rest = env["PATH"].split(os.pathsep, 1)
    assert Path(first) == Path(sys.executable).parent
    assert rest == base.get("PATH", os.defpath)


def test_a_job_gets_a_ray_of_its_own(launch):
    for base in ({"RAY_ADDRESS": "ray://elsewhere"}, {}):
        env = driver_environment(replace(launch, env={"RAY_ADDRESS": "auto"}), base)
        assert "RAY_ADDRESS" not in env
        assert env["RAY_AUTH_MODE"] == "token"
        assert len(env["RAY_AUTH_TOKEN"]) >= 32
    assert env["RAY_AUTH_TOKEN"] != driver_environment(launch, {})["RAY_AUTH_TOKEN"]
    other = replace(launch, mark="another-a1")
    assert driver_environment(other, {})["RAY_TMPDIR"] != env["RAY_TMPDIR"]


def test_a_job_joins_a_ray_that_is_there_when_told_to(launch):
    env = driver_environment(replace(launch, ray_address="127.0.0.1:6379"), {"RAY_ADDRESS": "other"})
    assert env["RAY_ADDRESS"] == "127.0.0.1:6379"
    assert "RAY_TMPDIR" not in env


def test_rays_sockets_have_room_in_their_path(launch, tmp_path):
    deep = replace(launch, folder=tmp_path / ("x" * 200))
    socket = deep.ray_folder / "session_2026-11-30_23-44-24_123456_1234567" / "sockets" / "plasma_store"
    assert len(os.fsencode(socket)) <= 107


def test_a_driver_starts_in_its_folder_with_its_log(launch, tmp_path):
    code = "import os; print(os.getcwd(), os.environ['HEADWAY_MARK'])"
    process = start(replace(launch, entrypoint=f'{sys.executable} -c "{code}"'))
    try:
        assert process.wait(20) == 0
        assert launch.log.read_text() == f"{tmp_path} {launch.mark}\n"
        assert launch.spool.is_dir()
        assert launch.ray_folder.stat().st_mode & 0o777 == 0o700
    finally:
        clean(launch.folder, launch.mark)
    assert not launch.ray_folder.exists()


def test_a_program_that_is_not_there_cannot_start(launch):
    try:
        with pytest.raises(OSError, match="no-such-program"):
            start(replace(launch, entrypoint="no-such-program-xyz"))
    finally:
        clean(launch.folder, launch.mark)


@pytest.fixture
def spawn(launch):
    started = []

    def make(code, mark=launch.mark):
        process = subprocess.Popen(
            [sys.executable, "-c", code], env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield make
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_an_attempts_processes_are_found_by_their_mark(launch, spawn):
    mine = spawn("print('up', flush=True); import time; time.sleep(60)")
    spawn("print('up', flush=True); import time; time.sleep(60)", mark=f"{launch.mark}0").stdout.readline()
    mine.stdout.readline()
    assert [process.pid for process in marked(launch.mark)] == [mine.pid]
    mine.kill()
    while psutil.Process(mine.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert marked(launch.mark) == []


@pytest.mark.parametrize("grace", [0, 0.3])
def test_all_end_even_one_that_does_not_listen_and_a_grandchild(launch, spawn, grace):
    stubborn, parent = spawn(STUBBORN), spawn(PARENT)
    other = spawn("print('up', flush=True); import time; time.sleep(60)", mark="another-a1")
    assert stubborn.stdout.readline() == "up\n"
    assert other.stdout.readline() == "up\n"
    grandchild = psutil.Process(int(parent.stdout.readline()))
    try:
        assert end_all(launch.mark, grace) == 3
        assert marked(launch.mark) == []
        assert stubborn.wait(10) == -9
        assert parent.wait(10) == (-15 if grace else -9)
        assert other.poll() is None
        gone = not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE
        assert gone
    finally:
        if grandchild.is_running():
            grandchild.kill()
    assert end_all(launch.mark, grace) == 0


def test_one_that_listens_ends_in_its_own_way(launch, spawn):
    polite = spawn(POLITE)
    polite.stdout.readline()
    end_all(launch.mark, 20)
    assert polite.wait(10) == 7
