"""What each worker printed, by rank, when Ray has gone; the last words of a worker that was killed too."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from driving import JOBS, no_process_left
from gateways import Served

pytestmark = pytest.mark.real


def test_each_worker_has_a_log_that_outlives_it_here_and_through_the_gateway(tmp_path: Path) -> None:
    served = Served(tmp_path / "home")
    served.up()
    try:
        run_id = served.ok("submit", "-d", "talking-ray.yaml", cwd=JOBS).split()[-1]
        shown = served.until_ended(run_id)
        assert shown["state"] == "FAILED", served.call("logs", run_id).stdout[-3000:]
        no_process_left(run_id)
        folder = served.home / "runs" / run_id / "a1"
        for rank in (0, 1):
            found = served.ok("logs", run_id, "--rank", str(rank))
            assert found == (folder / f"rank-{rank}.log").read_text()
            steps = [line for line in found.splitlines() if line.startswith("worker")]
            assert steps == [f"worker {rank} step {step} äöü" for step in range(200)]
            assert f"a child of worker {rank}" in found
            assert ("my last words" in found) is (rank == 1)
            assert served.ok("logs", run_id, "--rank", str(rank), "-f", "--address", served.address) == found
        driver = served.ok("logs", run_id)
        assert "worker 0 step 199" in driver, "the driver's log has all of them, as before"
        assert "worker 1 step 199" in driver
        assert served.ok("logs", run_id, "--address", served.address) == driver
        assert served.call("logs", run_id, "--rank", "2", "--address", served.address).returncode == 3
        kept = served.rows("SELECT stream, bytes, sha FROM log WHERE run_id = ? ORDER BY stream", run_id)
        assert [row[0] for row in kept] == ["driver", "rank-0", "rank-1"]
        for stream, size, sha in kept:
            data = (folder / f"{stream}.log").read_bytes()
            assert (size, sha) == (len(data), hashlib.sha256(data).hexdigest())
    finally:
        served.ok("down")
