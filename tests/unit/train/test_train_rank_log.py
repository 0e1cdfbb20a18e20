"""One worker's two outputs as a stream of its own: nothing lost at its end, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from headway.train import rank_log

BEGIN = """
import os, subprocess, sys, time
from pathlib import Path
from headway.train.rank_log import RankLog
print("before", flush=True)
log = RankLog(Path(sys.argv[1]))
"""
ALL_KINDS = """
print("by print")
print("an error", file=sys.stderr, flush=True)
sys.stdout.flush()
os.write(1, b"by a C library\\n")
subprocess.run(["sh", "-c", "echo by a child; echo its error >&2"])
"""
KEPT = ["by print", "an error", "by a C library", "by a child", "its error"]


def worker(path, code):
    """Run a worker to its end; gives its exit status and both outputs."""
    words = [sys.executable, "-c", BEGIN + code, str(path)]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def until_still(path):
    """What a file holds once nothing has come for a while."""
    seen, since = b"", time.monotonic()
    while time.monotonic() - since < 0.5:
        if (now := path.read_bytes()) != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.02)
    return seen.decode()


def test_everything_is_kept_and_goes_on_to_where_it_went(tmp_path):
    path = tmp_path / "a1" / "rank-0.log"
    code, out, err = worker(path, ALL_KINDS + "log.close()\nprint('after')\n")
    assert code == 0
    assert sorted(path.read_text().splitlines()) == sorted(KEPT)
    assert out.splitlines() == ["before", "by print", "by a C library", "by a child", "after"]
    assert err.splitlines() == ["an error", "its error"]


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(3)", "os.abort()", "raise ValueError"])
def test_the_last_words_of_a_worker_that_dies_are_kept(tmp_path, end):
    path = tmp_path / "rank-0.log"
    code, out, _err = worker(path, ALL_KINDS + f"os.write(2, b'my last words')\n{end}\n")
    assert code != 0
    found = until_still(path)
    assert all(line in found for line in [*KEPT, "my last words"])
    assert "by a C library" in out


def test_megabytes_pass_in_order(tmp_path):
    path = tmp_path / "rank-0.log"
    code, out, _err = worker(path, "for n in range(200_000): print('line', n)\nlog.close()\n")
    assert code == 0
    whole = "".join(f"line {n}\n" for n in range(200_000))
    assert path.read_text() == whole
    assert out == "before\n" + whole


def test_a_second_worker_of_a_rank_goes_on_in_the_same_file(tmp_path):
    path = tmp_path / "rank-0.log"
    for word in ("first", "second"):
        assert worker(path, f"print('{word}')\nlog.close()\n")[0] == 0
    assert path.read_text() == "first\nsecond\n"


def test_where_nothing_can_be_kept_the_worker_prints_on(tmp_path):
    path = tmp_path / "rank-0.log"
    path.mkdir()
    code, out, _err = worker(path, "print('said')\nlog.close()\n")
    assert code == 0
    assert "said" in out
    assert "not kept by rank" in out


def test_a_full_disk_stops_neither_the_other_copy_nor_the_worker(tmp_path):
    read, write = os.pipe()
    os.close(read)
    rank_log._write(write, b"nobody reads this")
    os.close(write)
    code, out, _err = worker("/dev/full", "print('said')\nlog.close()\n")
    assert (code, out) == (0, "before\nsaid\n")
