"""What the gateway bears: how soon a submission is on record, how many, and logs that are cut off.

Prints a table and writes benchmarks/out/gateway.json; every figure is measured side by side in this run,
over loopback, with a gateway of its own started as a user starts it.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import platform
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from followers import Tally, follow_all

from headway.runs.events import EventKind
from headway.runs.store import Ledger, Recorder
from headway.settings import Settings

OUT = Path(__file__).resolve().parents[1] / "out"
PER_SECOND, PACED, AT_ONCE, CLIENTS = 50, 500, 1000, 16
FOLLOWERS, CUTS, LOG_BYTES = 1000, 100, 200_000
BURSTS = 25  # in which the log grows, each once its followers wait at its end


class Client:
    """One connection to the gateway, kept open; submits jobs as Ray's client does."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def submit(self, key: str) -> float:
        """Seconds from the first byte sent to the answer, which comes after the commit."""
        body = json.dumps({
            "entrypoint": "python train.py", "submission_id": key,
            "metadata": {"team": "bench", "budget": "3 USD", "workers": "2"},
        })  # fmt: skip
        started = time.perf_counter()
        self._connection.request("POST", "/api/jobs/", body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        said = answer.read()
        taken = time.perf_counter() - started
        assert answer.status == 200, said
        return taken


def paced(url: str) -> list[float]:
    """Submissions that arrive at a rate, whether or not those before are done; from when each was due."""
    local = threading.local()
    begin = time.perf_counter() + 0.2

    def one(number: int) -> float:
        due = begin + number / PER_SECOND
        time.sleep(max(0.0, due - time.perf_counter()))
        if not hasattr(local, "client"):
            local.client = Client(url)
        local.client.submit(f"paced-{number}")
        return time.perf_counter() - due

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(one, range(PACED)))


def at_once(url: str) -> float:
    """Submissions a second when all clients submit as fast as they are answered."""

    def some(first: int) -> None:
        client = Client(url)
        for number in range(first, AT_ONCE, CLIENTS):
            client.submit(f"burst-{number}")

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(some, range(CLIENTS)))
    return AT_ONCE / (time.perf_counter() - started)


def bare_commits(folder: Path) -> list[float]:
    """What this disk takes for one durable commit of a row, with nothing around it."""
    database = sqlite3.connect(folder / "bare.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE t (x TEXT)")
    taken: list[float] = []
    for _ in range(300):
        started = time.perf_counter()
        database.execute("INSERT INTO t VALUES (?)", ("x" * 1000,))
        taken.append(time.perf_counter() - started)
    database.close()
    return taken


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def recorded(ledger: Path) -> int:
    """How many submissions the ledger has, read past the gateway."""
    with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True) as database:
        query = "SELECT count(*) FROM run WHERE request_key LIKE 'paced-%' OR request_key LIKE 'burst-%'"
        return int(database.execute(query).fetchone()[0])


def followed(url: str, settings: Settings) -> tuple[Tally, float]:
    """A run's log that grows while a thousand followers read it, each of them cut off again and again."""
    Client(url).submit("followed")
    ledger = Ledger.at(settings.ledger_path)
    recorder = Recorder(ledger, "bench")
    with sqlite3.connect(settings.ledger_path) as database:
        run_id = database.execute("SELECT id FROM run WHERE request_key = 'followed'").fetchone()[0]
    for state in ("ADMITTED", "PROVISIONING", "STARTING", "RUNNING"):
        recorder.append(EventKind.RUN_STATE, {"to": state}, run_id)
    lines = "".join(f"step {number} loss {1 / (number + 1):.6f} äöü €\n" for number in range(20_000))
    whole = lines.encode()[:LOG_BYTES]
    path = settings.run_folder(run_id) / "a1" / "driver.log"
    path.parent.mkdir(parents=True)
    file = path.open("wb", buffering=0)

    seen = [-1]

    def grow(cuts: int) -> None:
        have = file.tell()
        if cuts == seen[0] and have < LOG_BYTES:
            file.write(whole[have : have + LOG_BYTES // BURSTS])
            if file.tell() == LOG_BYTES:
                recorder.append(EventKind.RUN_STATE, {"to": "SUCCEEDED"}, run_id)
        seen[0] = cuts

    tally = Tally(whole)
    parts = urlsplit(url)
    address = (parts.hostname or "", parts.port or 0)
    started = time.perf_counter()
    asyncio.run(follow_all(address, "/v1/runs/followed/logs?follow=1", tally, FOLLOWERS, CUTS, grow))
    seconds = time.perf_counter() - started
    file.close()
    ledger.close()
    return tally, seconds


def start(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A gateway of its own, without a controller: nothing of what is submitted starts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-m", "headway.cli.main", "serve", "--no-controller", "--port", str(port)]
    process = subprocess.Popen(
        words, env={**os.environ, "HEADWAY_HOME": str(home)}, stderr=subprocess.DEVNULL
    )
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=1).read()
        except OSError:
            time.sleep(0.1)
        else:
            return process, url
    process.kill()
    raise SystemExit("the gateway did not start")


def measure() -> list[dict[str, object]]:
    """Every figure, as it is written down."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADWAY_HOME"] = folder
        os.environ.pop("HEADWAY_TOKEN", None)
        settings = Settings.load()
        commits = bare_commits(Path(folder))
        process, url = start(settings.home)
        try:
            alone = Client(url)
            for number in range(20):
                alone.submit(f"warm-{number}")  # what is measured is a gateway that works already
            latencies, rate = paced(url), at_once(url)
            assert recorded(settings.ledger_path) == PACED + AT_ONCE
            tally, seconds = followed(url, settings)
            used = psutil.Process(process.pid).cpu_times()
        finally:
            process.terminate()
            process.wait()
    where = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    rows: list[tuple[str, float, str, float, str, dict[str, float]]] = [
        ("submit_p95_ms", p95(latencies) * 1000, "ms", 50, "lower", {
            "bare_commit_p95_ms": p95(commits) * 1000,
            "median_ms": statistics.median(latencies) * 1000,
            "slowest_ms": max(latencies) * 1000,
            "arrivals_per_second": PER_SECOND,
        }),
        ("submits_per_second", rate, "1/s", 50, "higher", {
            "bare_commits_per_second": 1 / statistics.mean(commits), "clients": CLIENTS,
        }),
        ("followers_lost_bytes", tally.lost, "B", 0, "lower", {
            "followers": FOLLOWERS, "cuts": tally.cuts, "bytes_each": LOG_BYTES, "seconds": seconds,
            "gateway_cpu_seconds": used.user + used.system,
        }),
    ]  # fmt: skip
    return [
        {
            "name": name, "value": round(value, 3), "unit": unit, "goal": goal, "better": better,
            "baselines": {key: round(figure, 3) for key, figure in beside.items()}, "where": where,
        }
        for name, value, unit, goal, better, beside in rows
    ]  # fmt: skip


def main() -> None:
    """Measure, write, print."""
    rows = measure()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "gateway.json").write_text(json.dumps(rows, indent=2) + "\n")
    for row in rows:
        print(f"{row['name']:22} {row['value']:10} {row['unit']:4} goal {row['goal']}   {row['baselines']}")


if __name__ == "__main__":
    main()
