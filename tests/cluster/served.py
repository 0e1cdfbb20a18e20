"""A gateway and a controller that run jobs on the test cluster, started as its engineer starts them."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from testbed.cluster import Cluster

BIN = Path(sys.executable).parent
PODS_SEE = "10.244.0.1"  # this machine, as the cluster's pods reach it
SITES = """\
version: 1
sites:
  - kind: owned
    name: lab
    location: FR
    currency: USD
    server: {{price: 84096 USD, cores: {cores}, gpus: {gpus}, accelerator: l4, memory: 6GiB}}
    life_years: 4
    power_watts: 400
    tariff: 0.10 USD
    pools: [{{name: local, max_nodes: 4}}]
    sensitivities: [public, internal]
here: {{core_price: 0.04 USD, tariff: 0.15 USD, utilisation: 0.6, location: FRA}}
"""


class Served:
    """One home with its gateway and controller; both can be killed and started again."""

    def __init__(
        self, cluster: Cluster, namespace: str, home: Path, *, cores: int = 1, gpus: int = 1
    ) -> None:
        self.cluster, self.namespace, self.home = cluster, namespace, home
        home.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (home / "sites.yaml").write_text(SITES.format(cores=cores, gpus=gpus))
        (home / "cluster.yaml").write_text(yaml.safe_dump(self.spec()))
        self.env = {
            **os.environ,
            "HEADWAY_HOME": str(home),
            "HEADWAY_LANG": "en",
            "HEADWAY_SITES": str(home / "sites.yaml"),
            "HEADWAY_CLUSTER": str(home / "cluster.yaml"),
            "HEADWAY_ADDRESS": self.address,
            "KUBECONFIG": str(cluster.kubeconfig),
            "RAY_ADDRESS": "",
            "RAY_API_SERVER_ADDRESS": self.address,
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self.token = self.ok("tokens", "create", "tester", "--role", "admin").split()[-1]
        self.env["HEADWAY_TOKEN"] = self.token
        self.env["RAY_JOB_HEADERS"] = json.dumps({"Authorization": f"Bearer {self.token}"})
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start()

    def spec(self) -> dict[str, Any]:
        """The cluster file."""
        return {
            "version": 1,
            "gateway": f"http://{PODS_SEE}:{self.port}",
            "image": self.cluster.ray_image,
            "image_pull_policy": "Never",
            "namespace": self.namespace,
            "storage": {"claim": "storage", "path": "/storage"},
            "volumes": [
                {"claim": "site", "path": "/opt/site", "read_only": True},
                {"claim": "source", "path": "/opt/source", "read_only": True},
            ],
            # The GPUs are none: Ray Train is asked for processors, and the pods hold the GPUs.
            "env": {"HEADWAY_GPUS_PER_WORKER": "0", "OMP_NUM_THREADS": "1"},
            "pools": [{"name": "local", "site": "lab", "pool": "local"}],
            "cpu_overcommit": 5,
            "head_memory": "3GiB",
            "stop_grace": "5s",
        }

    @property
    def address(self) -> str:
        """The gateway's, from here."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, *names: str) -> None:
        """Start the gateway and the controller, or those that are named."""
        words = {
            "gateway": ["serve", "--no-controller", "--host", "0.0.0.0", "--port", str(self.port)],
            "controller": ["controller"],
        }
        for name in names or words:
            with (self.home / f"{name}.log").open("ab") as log:
                command = [sys.executable, "-m", "headway.cli.main", *words[name]]
                self.processes[name] = subprocess.Popen(command, env=self.env, stdout=log, stderr=log)
        wait_for(self._is_ready, 60, "the gateway answers")

    def _is_ready(self) -> bool:
        try:
            return urllib.request.urlopen(f"{self.address}/readyz", timeout=2).status == 200
        except OSError:
            return False

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.processes[name].kill()
        self.processes[name].wait()

    def stop(self) -> None:
        """End both."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            process.wait(timeout=60)

    def run(
        self, *words: str, cwd: Path | None = None, program: str = "headway"
    ) -> subprocess.CompletedProcess[str]:
        """A command against this gateway."""
        return subprocess.run(
            [str(BIN / program), *words],
            env=self.env,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def ok(self, *words: str, cwd: Path | None = None, program: str = "headway") -> str:
        """One that must succeed."""
        done = self.run(*words, cwd=cwd, program=program)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Straight from the ledger: waiting must not load the machine."""
        with sqlite3.connect(f"file:{self.home / 'ledger.db'}?mode=ro", uri=True) as ledger:
            return ledger.execute(query, values).fetchall()

    def state(self, run_id: str) -> str:
        """The run's state."""
        return self.rows("SELECT state FROM run WHERE id = ?", run_id)[0][0]

    def attempts(self, run_id: str) -> list[tuple[int, str, str | None]]:
        """Number, state and failure class of each attempt."""
        return self.rows("SELECT n, state, failure_class FROM attempt WHERE run_id = ? ORDER BY n", run_id)

    def await_state(self, run_id: str, *states: str, seconds: float = 240) -> str:
        """Wait until the run is in one of the states; gives it."""
        ended = {"SUCCEEDED", "FAILED", "CANCELLED"}

        def there() -> str | None:
            state = self.state(run_id)
            return state if state in states or state in ended else None

        found = wait_for(there, seconds, f"{run_id} is {states}", self.story(run_id))
        assert found in states, f"{run_id} is {found}, not {states}\n{self.story(run_id)()}"
        return found

    def story(self, run_id: str) -> Callable[[], str]:
        """What there is to know of a run that did not do as it should."""

        def tell() -> str:
            events = self.rows(
                "SELECT occurred_at, attempt, kind, body FROM event WHERE run_id = ? AND kind NOT IN"
                " ('progress', 'run.submitted') ORDER BY recorded_at",
                run_id,
            )
            lines = [" ".join(str(part)[:300] for part in row) for row in events]
            logs = [(self.home / f"{name}.log").read_text()[-1500:] for name in ("gateway", "controller")]
            log = self.run("logs", run_id).stdout[-3000:]
            return "\n".join([*lines, *logs, log])

        return tell

    def ours(self) -> list[str]:
        """What is in the namespace that we could have made."""
        kinds = ("rayjobs", "rayclusters", "pods", "secrets")
        return [
            f"{kind}/{thing['metadata']['name']}"
            for kind in kinds
            for thing in self.cluster.list(kind, self.namespace)
        ]


def wait_for(condition: Callable[[], Any], seconds: float, what: str, story: Callable[[], str] = str) -> Any:
    """Wait until the condition holds; gives what it gave."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"in {seconds} s not so: {what}\n{story()}"
        time.sleep(0.3)
    return found
