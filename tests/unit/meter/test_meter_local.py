"""Ticks add up to the time that passed, and processor time to what a process really used."""

import os
import subprocess
import sys
import time

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.costing.usage import Metric
from headway.meter.local import LocalMeter
from headway.meter.processor import ProcessorTime, busy_core_microseconds

BUSY = "import time\nwhile True: pass"


class Source:
    method, quality = "test", "measured"

    def __init__(self):
        self.seen = []

    def microjoules(self, cores):
        self.seen.append(cores)
        return 3


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 64), st.lists(st.integers(-5, 10**7), min_size=1, max_size=10), st.integers(0, 10**15))
def test_ticks_follow_each_other_and_sum_to_cores_times_time(cores, steps, start):
    source = Source()
    meter = LocalMeter("a", cores, source, list, start)
    now, rows = start, []
    for step in steps:
        now += step
        rows.extend(meter.tick(now))
    held = [row for row in rows if row.metric is Metric.CORE_HELD]
    edges = [start, *(row.stop for row in held)]
    assert [row.start for row in held] == edges[:-1]
    assert sum(row.quantity_int for row in held) == cores * (edges[-1] - start)
    assert edges[-1] == max(edges)
    assert [row.quantity_int for row in rows if row.metric is Metric.ENERGY] == [3] * len(held)
    assert all(row.metric is not Metric.CORE_USED for row in rows), "nothing ran"
    assert [one.held for one in source.seen] == [row.quantity_int for row in held]
    assert all(
        one.machine_capacity == os.cpu_count() * (x.stop - x.start)
        for one, x in zip(source.seen, held, strict=True)
    )


def test_a_tick_at_the_same_moment_says_nothing():
    meter = LocalMeter("a", 1, Source(), list, 100)
    assert meter.tick(100) == []
    assert meter.tick(99) == []
    assert meter.tick(101)[0].start == 100


@pytest.fixture
def busy():
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def work(process, seconds):
    """Wait until a process has worked for so long, however busy the machine is."""
    start = sum(process.cpu_times()[:2])
    while sum(process.cpu_times()[:2]) < start + seconds:
        time.sleep(0.02)


def test_processor_time_is_what_the_process_used(busy):
    clock = ProcessorTime()
    before = busy.cpu_times()
    first = clock.sample([busy])
    machine = busy_core_microseconds()
    work(busy, 0.3)
    gained = clock.sample([busy])
    after = busy.cpu_times()
    truth = (after.user + after.system - before.user - before.system) * 1e6
    assert gained > 200_000
    assert gained == pytest.approx(truth, abs=60_000)
    assert first >= 0
    assert clock.total_microseconds == first + gained
    assert busy_core_microseconds() - machine >= gained * 0.8


def test_a_process_that_ended_takes_nothing_back(busy):
    clock = ProcessorTime()
    work(busy, 0.05)
    clock.sample([busy])
    total = clock.total_microseconds
    busy.kill()
    busy.wait()
    assert clock.sample([busy]) == 0
    assert clock.sample([]) == 0
    assert clock.total_microseconds == total


def test_a_process_is_counted_from_its_start(busy):
    work(busy, 0.05)
    assert ProcessorTime().sample([busy]) >= 50_000
