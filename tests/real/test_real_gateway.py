"""The stock Ray client over the gateway: codes and shapes of a real Ray, and a record of each run."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conversation import Talker, await_ready, hold, hold_exceptions

BIN = Path(sys.executable).parent

FAILING = ("sh", "-c", "echo because; exit 4")

pytestmark = pytest.mark.real


class Served:
    """A gateway and controller of their own, started as a user starts them."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.env = {
            **os.environ,
            "HEADWAY_HOME": str(home),
            "HEADWAY_LANG": "en",
            "RAY_ADDRESS": "",
            "RAY_API_SERVER_ADDRESS": self.address,
            "HEADWAY_ADDRESS": self.address,
            "RAY_USAGE_STATS_ENABLED": "0",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        self.call("headway", "up", "--no-dashboard", "--port", str(port))

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A command with the gateway's address in its environment."""
        program, *rest = words
        return subprocess.run(
            [str(BIN / program), *rest],
            env=self.env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def call(self, *words: str, cwd: Path | None = None) -> str:
        """One that must succeed; gives all that it said."""
        done = self.run(*words, cwd=cwd)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Gateway and controller, ended afterwards."""
    served = Served(tmp_path_factory.mktemp("served") / "home")
    yield served
    served.call("headway", "down")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A working directory with a script that says who it is."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(
        "import os, sys, helper\nprint('trained by', helper.WHO, sys.argv[1:], flush=True)\n"
    )
    (folder / "helper.py").write_text("WHO = 'a stock client'\n")
    return folder


def test_a_real_ray_and_the_gateway_answer_alike(other_ray: dict[str, str], served: Served) -> None:
    token = {"X-Ray-Authorization": f"Bearer {other_ray['RAY_AUTH_TOKEN']}"}
    real = Talker("http://127.0.0.1:28265", token)
    ours = Talker(served.address)
    await_ready(real)
    expected, heard = hold(real), hold(ours)
    assert list(expected) == list(heard)
    assert {name: (expected[name], heard[name]) for name in expected if expected[name] != heard[name]} == {}
    assert hold_exceptions(real) == {"taken by another": 500, "delete running": 500, "no JSON": 500}
    assert hold_exceptions(ours) == {"taken by another": 409, "delete running": 409, "no JSON": 400}


def test_every_stock_command_works(served: Served, code: Path) -> None:
    said = served.call(
        *("ray", "job", "submit", "--working-dir", str(code), "--submission-id", "stock-1"),
        *("--metadata-json", '{"team": "nlp", "budget": "3 USD"}', "--", "python", "train.py", "--lr", "0.1"),
    )
    assert "trained by a stock client ['--lr', '0.1']" in said
    assert "Job 'stock-1' succeeded" in said
    assert "Job 'stock-1' succeeded" in served.call("ray", "job", "status", "stock-1")
    assert "trained by a stock client" in served.call("ray", "job", "logs", "stock-1")
    assert "stock-1" in served.call("ray", "job", "list")
    served.call("ray", "job", "submit", "--no-wait", "--submission-id", "stock-2", "--", "sleep", "300")
    Talker(served.address).until("stock-2", "RUNNING".__eq__)
    assert "was stopped" in served.call("ray", "job", "stop", "stock-2")
    assert "deleted successfully" in served.call("ray", "job", "delete", "stock-2")
    assert "stock-2" not in served.call("ray", "job", "list")
    run = next(
        run
        for run in json.loads(served.run("headway", "ls", "-o", "json").stdout)["runs"]
        if run["team"] == "nlp"
    )
    assert run["state"] == "SUCCEEDED"
    served.call("headway", "receipt", run["run_id"], "--verify")


def test_a_job_that_fails_makes_the_stock_client_fail(served: Served) -> None:
    done = served.run("ray", "job", "submit", "--submission-id", "broken", "--", *FAILING)
    assert done.returncode != 0
    assert "because" in done.stdout + done.stderr
    assert "Job 'broken' failed" in served.call("ray", "job", "status", "broken")


def test_the_client_library_follows_a_log_to_its_end(served: Served, code: Path) -> None:
    script = code / "talk.py"
    script.write_text(
        "import asyncio, os\n"
        "from ray.job_submission import JobSubmissionClient, JobStatus\n"
        "client = JobSubmissionClient(os.environ['RAY_API_SERVER_ADDRESS'])\n"
        "key = client.submit_job(entrypoint='for i in 1 2 3; do echo line $i; sleep 1; done',\n"
        "    runtime_env={'working_dir': '.'}, metadata={'purpose': 'following'})\n"
        "async def follow():\n"
        "    return ''.join([text async for text in client.tail_job_logs(key)])\n"
        "text = asyncio.run(follow())\n"
        "assert [line for line in text.split('\\n') if line.startswith('line')] == "
        "['line 1', 'line 2', 'line 3'], text\n"
        "info = client.get_job_info(key)\n"
        "assert info.status == JobStatus.SUCCEEDED, info\n"
        "assert info.metadata['purpose'] == 'following'\n"
        "assert key in {job.submission_id for job in client.list_jobs()}\n"
        "assert client.delete_job(key)\n"
        "try:\n"
        "    client.get_job_status(key)\n"
        "except RuntimeError as error:\n"
        "    assert '404' in str(error), error\n"
        "else:\n"
        "    raise AssertionError('deleted, and still there')\n"
    )
    served.call("python", str(script), cwd=code)


def test_a_package_of_300_mib_travels(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "big.zip"
    block = os.urandom(1 << 20)
    whole = hashlib.sha256()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("weights.bin", "w", force_zip64=True) as file:
            for number in range(300):
                data = number.to_bytes(4, "big") + block[4:]
                whole.update(data)
                file.write(data)
        archive.writestr(
            "train.py",
            "import hashlib\nwith open('weights.bin', 'rb') as file:\n"
            "    print('sum', hashlib.file_digest(file, 'sha256').hexdigest())\n",
        )
    url = f"{served.address}/api/packages/gcs/_ray_pkg_00000000000000ff.zip"
    with path.open("rb") as file:
        request = urllib.request.Request(
            url, file, {"Content-Length": str(path.stat().st_size)}, method="PUT"
        )
        with urllib.request.urlopen(request, timeout=240) as answer:
            assert answer.status == 200
    talker = Talker(served.address)
    env = {"working_dir": "gcs://_ray_pkg_00000000000000ff.zip"}
    body = {"entrypoint": "python train.py", "submission_id": "big", "runtime_env": env}
    assert talker.ask("POST", "/api/jobs/", body)[0] == 200
    assert talker.until("big", {"SUCCEEDED", "FAILED"}.__contains__)["status"] == "SUCCEEDED"
    assert f"sum {whole.hexdigest()}" in talker.ask("GET", "/api/jobs/big/logs")[1]["logs"]


def test_our_own_client_submits_follows_and_submits_again(served: Served, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('our own words', flush=True)\n")
    (tmp_path / "job.yaml").write_text("version: 1\nname: own\nentrypoint: python train.py\n")
    done = served.run("headway", "submit", "job.yaml", "--key", "own-1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "our own words" in done.stdout
    run_id = done.stdout.split()[0]
    again = served.run("headway", "submit", "job.yaml", "--key", "own-1", "-d", cwd=tmp_path)
    assert again.stdout.split() == [run_id], again.stderr
    more = served.run("headway", "resubmit", run_id, cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    assert "our own words" in more.stdout
    assert more.stdout.split()[0] != run_id
