"""Who is let in: every route is tried without a token, with a bad one, and with another team's."""

from __future__ import annotations

import re

import pytest

from conftest import Running, zipped
from headway.errors import ConfigError
from headway.gateway.serving import Listening, serve
from headway.runs import tokens
from headway.runs.store import now_microseconds
from headway.runs.tokens import Role

OPEN = {"/healthz", "/readyz", "/v1/blobs/{name}"}
# What belongs to no team: there is nothing of another team's to see.
SHARED = {"/api/version", "/metrics", "/api/packages/{protocol}/{package_name}", "/api/jobs/", "/v1/runs"}
FILL = {"protocol": "gcs", "package_name": "p.zip", "attempt": "1", "stream": "driver", "name": "0" * 64}


def routes(running):
    for route in running.app.router.routes():
        if route.method != "HEAD":
            yield route.method, route.resource.canonical


def filled(path, run):
    return re.sub(r"\{(\w+)\}", lambda found: FILL.get(found[1], run), path)


@pytest.fixture
def guarded(running):
    running.own = running.token("nlp")
    running.submit("job", token=running.own)
    return running


def test_the_open_routes_are_these(guarded):
    found = {path for method, path in routes(guarded) if guarded.ask(method, filled(path, "job"))[0] != 401}
    assert found == OPEN


def test_every_other_route_refuses_no_token_and_a_bad_one(guarded):
    expired = guarded.token("nlp", expires=now_microseconds() - 1, name="late")
    revoked = guarded.token("nlp", name="left")
    with guarded.ledger.write() as connection:
        tokens.revoke(connection, "left", now_microseconds())
    tried = 0
    for method, path in routes(guarded):
        if path in OPEN:
            continue
        for token in (None, "hw_wrong", expired, revoked):
            status, said = guarded.ask(method, filled(path, "job"), b"{}", token)
            assert status == 401, (method, path, token, said)
            tried += 1
        status, _said = guarded.ask(method, filled(path, "job"), b"{}", headers={"Authorization": "Basic x"})
        assert status == 401
    assert tried >= 80


def test_another_teams_token_sees_nothing_of_it(guarded):
    other = guarded.token("vision")
    for method, path in routes(guarded):
        if path in OPEN | SHARED:
            continue
        status, said = guarded.ask(method, filled(path, "job"), b"{}", other)
        assert status == 403, (method, path, said)
    assert guarded.ask("GET", "/api/jobs/", token=other) == (200, [])
    assert guarded.ask("GET", "/v1/runs", token=other) == (200, [])
    body = {"entrypoint": "python train.py", "submission_id": "job"}
    assert guarded.ask("POST", "/api/jobs/", body, other)[0] == 409
    body = {"entrypoint": "python train.py", "metadata": {"team": "nlp"}}
    assert guarded.ask("POST", "/api/jobs/", body, other)[0] == 400


def test_an_admin_sees_every_team_and_an_agent_none(guarded):
    admin, agent = guarded.token(None, Role.ADMIN), guarded.token(None, Role.AGENT)
    assert [job["submission_id"] for job in guarded.ask("GET", "/api/jobs/", token=admin)[1]] == ["job"]
    for method, path in routes(guarded):
        if path in OPEN or path in {"/v1/ingest", "/metrics", "/v1/runs/{run}/logs/{attempt}/{stream}"}:
            continue
        assert guarded.ask(method, filled(path, "job"), b"{}", agent)[0] == 403, (method, path)


def test_a_runs_own_token_posts_about_that_run_only(guarded):
    run = guarded.run("job").id
    own = guarded.token("nlp", Role.RUN, run)
    guarded.submit("other", token=guarded.own)
    other = guarded.run("other").id
    assert guarded.ask("PUT", f"/v1/runs/{run}/logs/1/driver", b"x", own)[0] == 202
    assert guarded.ask("PUT", f"/v1/runs/{other}/logs/1/driver", b"x", own)[0] == 403
    assert guarded.ask("GET", "/api/jobs/", token=own)[0] == 403
    assert guarded.ask("GET", "/metrics", token=own)[0] == 403


def test_a_token_is_kept_as_its_hash_only(guarded):
    assert guarded.own.encode() not in (guarded.home / "ledger.db").read_bytes()
    with guarded.ledger.read() as connection:
        assert [one.principal for one in tokens.list_tokens(connection)] == ["user-nlp"]


def test_without_tokens_only_programs_of_this_machine(running):
    assert running.ask("GET", "/api/jobs/")[0] == 200
    for headers in (
        {"Host": "evil.example:80"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
    ):
        assert running.ask("GET", "/api/jobs/", headers=headers)[0] == 403, headers
    assert running.ask("GET", "/api/jobs/", headers={"Origin": running.url})[0] == 200


def test_a_gateway_that_others_can_reach_needs_a_token_always(home, ledger):
    running = Running(home, ledger, loopback_only=False).start()
    try:
        assert running.ask("GET", "/api/jobs/")[0] == 401
    finally:
        running.stop()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_open_address_without_a_token_is_refused(home, ledger, host):
    with pytest.raises(ConfigError, match="no token has been made"):
        serve(Listening(host, 0), ledger, None, None, home, print)


def test_a_packages_address_is_signed_for_a_while(running):
    from headway.gateway.signed import signed_address

    data = zipped(train_py="x")
    running.ask("PUT", "/api/packages/gcs/p.zip", data)
    sha256 = running.store.named("packages", "p.zip")
    good = signed_address("", running.gateway.key, sha256, 60)
    assert running.ask("GET", good)[0] == 200
    for bad in (
        good.replace(sha256, "0" * 64),
        good[:-1] + ("0" if good[-1] != "0" else "1"),
        re.sub(r"expires=(\d)", lambda found: f"expires={found[1]}0", good),
        f"/v1/blobs/{sha256}.zip",
        signed_address("", running.gateway.key, sha256, -60),
    ):
        assert running.ask("GET", bad)[0] == 403, bad
