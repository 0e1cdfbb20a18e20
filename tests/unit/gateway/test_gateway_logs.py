"""Logs by byte offset: nothing is lost or said twice, however often a follower is cut off."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import pytest

from headway.cli import api
from headway.errors import ExternalError, StateError, UserError
from headway.gateway import following, run_log


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


def test_a_watch_keeps_the_end_of_a_stream_and_leaves_the_rest_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "TAIL_BYTES", 8)
    monkeypatch.setattr(following, "CHUNK_BYTES", 3)
    watch, whole = following.Watch(), b""
    assert watch.since(0) is None, "nobody has looked"
    for part in (b"", b"abc", b"defgh", b"i" * 30, b"", b"jk"):
        run_log.append(tmp_path, 1, "driver", len(whole), part)
        whole += part
        watch.grow(*following._new_bytes(tmp_path, ("r", "driver", None), watch.size))
        assert watch.size == len(whole)
        for at in range(len(whole) + 1):
            found = watch.since(at)
            assert found == whole[at : at + 3] if at >= len(whole) - 8 else found is None
    assert watch.since(len(whole)) == b""


def until(what, why):
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.02)


def test_who_stops_following_a_quiet_run_is_noticed_and_is_no_error(running, monkeypatch, caplog):
    monkeypatch.setattr(following, "GONE_SECONDS", 0.1)
    running.submit("q")
    running.state("q", "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    running.log("q", b"the one line\n")
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", running.port)) as client:
            client.sendall(b"GET /v1/runs/q/logs?follow=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            found = b""
            while b"line" not in found:
                found += client.recv(4096)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a cut, no goodbye
    until(lambda: not running.gateway.watches.by_key, "ghosts follow on")
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_log_that_cannot_be_read_for_a_while_is_followed_on(running, monkeypatch):
    running.submit("b")
    running.state("b", "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    failures = iter([OSError("the disk is away")] * 3)

    def read(*words):
        if (error := next(failures, None)) is not None:
            raise error
        return _new_bytes(*words)

    _new_bytes = following._new_bytes
    monkeypatch.setattr(following, "_new_bytes", read)
    running.log("b", b"said")
    running.state("b", "SUCCEEDED")
    assert running.ask("GET", "/v1/runs/b/logs?follow=1") == (200, "said")


def test_our_client_follows_a_quiet_run_for_longer_than_it_waits_for_an_answer(running, monkeypatch):
    monkeypatch.setattr(api, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(api, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(api, "GIVE_UP_SECONDS", 0.9)
    running.submit("s")
    running.state("s", "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    running.log("s", b"begun\n")
    found = bytearray()
    client = threading.Thread(target=lambda: api.Api(running.url).follow("s", found.extend))
    client.start()
    client.join(3)
    assert client.is_alive(), "quiet is not unreachable"
    running.log("s", b"done\n")
    running.state("s", "SUCCEEDED")
    client.join(20)
    assert bytes(found) == b"begun\ndone\n"


def test_our_client_gives_up_on_a_gateway_that_is_gone(monkeypatch):
    monkeypatch.setattr(api, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(api, "GIVE_UP_SECONDS", 0.1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ExternalError):
        api.Api(f"http://127.0.0.1:{port}").follow("s", lambda data: None)
