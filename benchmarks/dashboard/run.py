"""How soon each page shows its first content in a real browser, with 10,000 runs in the ledger."""

import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from headway.catalog.here import here_figures
from headway.controller.settle import keep_snapshot
from headway.costing.here import here_prices
from headway.costing.lines import CostLine
from headway.costing.waste import Waste
from headway.runs import tables
from headway.runs.store import Ledger
from headway.settings import Settings

RUNS, REPEATS, GOAL_SECONDS = 10_000, 5, 2.0
T0, HOUR = 1_756_684_800_000_000, 3_600_000_000
CHROMIUM = os.environ.get("HEADWAY_CHROMIUM", "/usr/bin/chromium")
OUT = Path(__file__).parents[1] / "out" / "dashboard.json"
PAGES = {"runs": ".hw table", "run": ".hw table", "compare": "h1"}


def fill(ledger: Ledger) -> str:
    """Runs of one attempt, with the lines, usage and progress that a settled run has."""
    prices = here_prices(here_figures())
    spec = json.dumps({
        "job": {
            "version": 1,
            "name": "bench",
            "entrypoint": "python x.py",
            "workload": {"model": {"factory": "bert-large"}, "samples": 1600, "global_batch": 16},
        }
    })  # fmt: skip
    rows: dict[str, list[dict[str, object]]] = {
        name: [] for name in ("run", "attempt", "allocation", "usage", "progress", "cost_line")
    }
    for number in range(RUNS):
        run_id, start = f"bench-{number:010d}", T0 + number * 60_000_000
        ids = {"run_id": run_id, "attempt": 1}
        state = "FAILED" if number % 7 == 0 else "SUCCEEDED"
        rows["run"].append(
            {"id": run_id, "name": "bench", "team_id": f"team-{number % 12}", "labels": "{}",
             "spec_json": spec, "spec_sha": "0" * 64, "state": state, "version": 1,
             "request_key": run_id, "limits": "{}",
             "created": start, "ended": start + HOUR}
        )  # fmt: skip
        rows["attempt"].append(
            {"run_id": run_id, "n": 1, "state": state, "lease_epoch": 1, "lease_holder": "x/1/1",
             "lease_expires_at": start, "backend": "local", "started": start, "ended": start + HOUR}
        )  # fmt: skip
        rows["allocation"].append(
            {**ids, "id": f"{run_id}-al", "pool_id": "here/cores", "node": "n", "share_num": 1,
             "share_den": 1, "start": start, "stop": start + HOUR}
        )  # fmt: skip
        for seq in range(4):
            rows["usage"].append(
                {"source": run_id, "epoch": 1, "seq": seq, "allocation_id": f"{run_id}-al", "start": start,
                 "stop": start + HOUR, "metric": "energy", "quantity_int": 10**9, "unit": "microjoule",
                 "method": "model", "quality": "modelled"}
            )  # fmt: skip
            rows["progress"].append(
                {**ids, "at": start + seq, "step": seq * 25 + 25, "samples": seq * 400 + 400, "tokens": None,
                 "loss": "0.5"}
            )  # fmt: skip
        for price in prices:
            for waste in (Waste.USEFUL, Waste.RESTART):
                category = "energy" if price.unit == "kWh" else "compute"
                line = CostLine(
                    "accrued", run_id, 1, f"{run_id}-al", "here/cores", f"team-{number % 12}", category,
                    "direct", waste, start, start + HOUR, "1", price.unit, price.id, 1_000_000 + number,
                    price.currency, "model",
                )  # fmt: skip
                values = {name: getattr(line, name) for name in line.__slots__}
                rows["cost_line"].append({**values, "id": line.id, "waste": waste.value})
    with ledger.write() as connection:
        for name, values in rows.items():
            connection.execute(tables.metadata.tables[name].insert(), values)
    return f"bench-{RUNS // 2:010d}"


def measure(url: str, run_id: str) -> dict[str, list[float]]:
    """Seconds from the address to the first content, each time in a browser without a cache."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {name: [] for name in PAGES}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for repeat in range(REPEATS + 1):
            for name, content in PAGES.items():
                context = browser.new_context()
                page = context.new_page()
                started = time.monotonic()
                page.goto(f"{url}/?page={name}&run={run_id}", wait_until="commit")
                page.wait_for_selector(content)
                if repeat:  # the first round opens the ledger and imports
                    found[name].append(time.monotonic() - started)
                context.close()
        browser.close()
    return found


def main() -> None:
    """Fill, serve, look, write."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADWAY_HOME"] = folder
        settings = Settings.load()
        ledger = Ledger.at(settings.ledger_path)
        keep_snapshot(settings, here_figures())
        run_id = fill(ledger)
        ledger.close()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        words = [sys.executable, "-m", "headway.cli.main", "dashboard", "--no-browser", "--port", str(port)]
        server = subprocess.Popen(words)
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read()
                    break
                except OSError:
                    time.sleep(0.2)
            found = measure(url, run_id)
        finally:
            server.terminate()
            server.wait()
    results = [
        {
            "name": f"first content of {name} at {RUNS} runs (slowest of {REPEATS})",
            "value": round(max(seconds), 3),
            "unit": "s",
            "goal": GOAL_SECONDS,
            "better": "lower",
            "baselines": {"median": round(statistics.median(seconds), 3)},
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        }
        for name, seconds in found.items()
    ]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for row in results:
        print(f"{row['value']:6.2f} s  (median {row['baselines']['median']:.2f})  {row['name']}")


main()
