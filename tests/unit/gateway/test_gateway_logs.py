"""Logs by byte offset: nothing is lost or said twice, however often a follower is cut off."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import pytest

from headway.errors import StateError, UserError
from headway.gateway import run_log


def in_a_loop_of_its_own(what):
    """Await it in another thread: the browser's tests leave a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, what).result()


def test_an_offset_means_the_same_byte_for_ever(tmp_path):
    assert run_log.append(tmp_path, 1, "driver", 0, b"abc") == 3
    assert run_log.append(tmp_path, 1, "driver", 3, b"def") == 6
    assert run_log.append(tmp_path, 2, "driver", 0, b"ghi") == 3
    whole = b"abcdefghi"
    for at in range(10):
        found = b""
        while data := run_log.read(tmp_path, "driver", at + len(found), 2):
            found += data
        assert found == whole[at:]
    assert run_log.read(tmp_path, "driver", 0, 99, attempt=2) == b"ghi"
    assert run_log.size(tmp_path, "driver") == 9


def test_what_is_posted_twice_is_kept_once_and_a_gap_is_refused(tmp_path):
    run_log.append(tmp_path, 1, "rank-0", 0, b"abcdef")
    assert run_log.append(tmp_path, 1, "rank-0", 2, b"cdefgh") == 8
    assert run_log.append(tmp_path, 1, "rank-0", 0, b"abc") == 8
    with pytest.raises(StateError):
        run_log.append(tmp_path, 1, "rank-0", 9, b"x")
    assert run_log.read(tmp_path, "rank-0", 0, 99) == b"abcdefgh"


@pytest.mark.parametrize("stream", ["../../etc/passwd", "rank-", "rank-x", "driver.log", "", "rank-1/../x"])
def test_streams_have_names_of_their_own(tmp_path, stream):
    with pytest.raises(UserError):
        run_log.append(tmp_path, 1, stream, 0, b"x")


def test_logs_over_http(running):
    running.submit("l")
    running.log("l", b"0123456789")
    running.log("l", b"rank one", stream="rank-1")
    assert running.ask("GET", "/v1/runs/l/logs?offset=4")[1] == 456789
    assert running.ask("GET", "/v1/runs/l/logs?rank=1")[1] == "rank one"
    assert running.ask("GET", "/v1/runs/l/logs?rank=7")[1] == ""
    for bad in ("offset=-1", "offset=x", "rank=..", "attempt=%00", "offset=" + "9" * 30):
        assert running.ask("GET", f"/v1/runs/l/logs?{bad}")[0] == 400
    assert running.ask("PUT", "/v1/runs/l/logs/1/rank-1?offset=8", b"!") == (202, {"size": 9})
    assert running.ask("PUT", "/v1/runs/l/logs/1/rank-1?offset=99", b"!")[0] == 409
    assert running.ask("PUT", "/v1/runs/l/logs/1/secrets", b"!")[0] == 400


def test_followers_that_are_cut_off_again_and_again_lose_no_byte(running):
    running.submit("f")
    running.state("f", "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    lines = [f"{number} äöü €\n".encode() for number in range(400)]
    whole = b"".join(lines)

    def write():
        for start in range(0, len(lines), 10):
            running.log("f", b"".join(lines[start : start + 10]), attempt=1 + (start >= 200))
            time.sleep(0.02)
        running.state("f", "SUCCEEDED")

    async def one(session, seed):
        chance, found = random.Random(seed), b""
        while True:
            url = f"{running.url}/v1/runs/f/logs?follow=1&offset={len(found)}"
            async with session.get(url) as answer:
                cut = chance.randrange(1, 900) if chance.random() < 0.8 else 1 << 30
                got = 0
                async for data in answer.content.iter_any():
                    found, got = found + data, got + len(data)
                    if got >= cut:
                        break
                else:
                    return found

    async def all_of_them():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            return await asyncio.gather(*(one(session, seed) for seed in range(40)))

    writer = threading.Thread(target=write)
    writer.start()
    found = in_a_loop_of_its_own(all_of_them())
    writer.join()
    assert all(data == whole for data in found)
    deadline = time.monotonic() + 10
    while running.gateway.watches.by_key:
        assert time.monotonic() < deadline, "a watch outlived its followers"
        time.sleep(0.05)


def test_rays_tail_splits_no_character_and_ends_with_the_run(running):
    running.submit("t")
    running.state("t", "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    text = "ä€😀\n" * 2000

    def write():
        data = text.encode()
        for start in range(0, len(data), 997):
            running.log("t", data[start : start + 997])
            time.sleep(0.01)
        running.state("t", "SUCCEEDED")

    async def tail():
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{running.url}/api/jobs/t/logs/tail") as socket,
        ):
            found = [message.data async for message in socket if message.type is aiohttp.WSMsgType.TEXT]
            return "".join(found), socket.close_code

    writer = threading.Thread(target=write)
    writer.start()
    found, code = in_a_loop_of_its_own(tail())
    writer.join()
    assert found == text
    assert code == 1000
