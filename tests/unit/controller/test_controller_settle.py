"""Settling: charges never change, only their split; settling twice changes nothing."""

import json
import os
import shlex
import sys
from collections import defaultdict

import pytest
from sqlalchemy import func, select

from headway.catalog.here import here_figures
from headway.controller.admission import Waiting, admit
from headway.controller.cores import check_fits, machine_cores
from headway.controller.receipts import live_of, receipt_of
from headway.controller.settle import settle_run
from headway.controller.submit import check_code, create_run, reopen_run
from headway.controller.verification import verify_receipt
from headway.errors import CapacityError, HeadwayError, StateError, UserError
from headway.runs import bills, queries, tables
from headway.runs.events import EventKind
from headway.runs.store import Recorder
from headway.settings import Settings
from headway.spec.files import load_job


def lines(history):
    with history.ledger.read() as connection:
        return bills.lines_of(connection, history.run_id)


def stored(history):
    with history.ledger.read() as connection:
        return connection.execute(select(func.count()).select_from(tables.cost_line)).scalar_one()


def charges(found):
    sums = defaultdict(int)
    for line in found:
        sums[line.attempt, line.category, line.price_id, line.method] += line.amount_nano
    return dict(sums)


def settle_again(history):
    with history.ledger.write() as connection:
        return settle_run(connection, history.run_id, here_figures())


def test_settling_twice_changes_nothing(finished_run):
    before, rows = lines(finished_run), stored(finished_run)
    for _ in range(3):
        assert settle_again(finished_run) == []
    assert lines(finished_run) == before
    assert stored(finished_run) == rows


def test_an_attempts_time_is_split_by_what_the_run_kept(finished_run):
    shares = defaultdict(int)
    for line in lines(finished_run):
        if (line.attempt, line.category) == (1, "compute"):
            shares[line.waste.value] += line.amount_nano
    whole = sum(shares.values())
    # 88 s of training made 57 steps of which 50 were kept; 10 s starting, 2 s of checkpoint.
    expected = {"useful": 88 * 50 / 57, "replay": 88 * 7 / 57, "restart": 10, "checkpoint": 2}
    assert {k: v / whole * 100 for k, v in shares.items() if v} == pytest.approx(expected, rel=1e-4)


def test_costing_anew_supersedes_and_keeps_each_charge(half_run):
    before = charges(lines(half_run))
    history = half_run
    history.state(100, "RESTARTING")
    history.open(2, 110)
    history.add(EventKind.ATTEMPT_STATE, 110, to="ADMITTED")
    history.add(EventKind.NOTE, 111, what="restored", step=0)
    history.progress(112, 3)
    history.use(110, 120)
    history.close(120, "FAILED", "infra")
    after = charges(lines(history))
    assert {key: value for key, value in after.items() if key[0] == 1} == before
    assert {x.waste.value for x in lines(history) if x.attempt == 1 and x.amount_nano} == {"failed"}
    rows = stored(history)
    assert settle_again(history) == []
    assert stored(history) == rows


def test_a_line_is_never_changed_in_place(half_run):
    with half_run.ledger.read() as connection:
        before = set(connection.execute(select(tables.cost_line)).all())
    half_run.add(EventKind.NOTE, 111, what="restored", step=0)
    half_run.open(2, 110)
    half_run.add(EventKind.NOTE, 111, what="restored", step=0)
    half_run.progress(112, 3)
    half_run.close(120, "FAILED", "infra")
    with half_run.ledger.read() as connection:
        assert before < set(connection.execute(select(tables.cost_line)).all())


def test_a_receipt_of_a_running_run_shows_its_cost_so_far(history):
    history.submit()
    history.open(1, 0)
    history.walk(0, "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    history.progress(5, 1)
    history.progress(10, 5)
    history.use(0, 10)
    with history.ledger.read() as connection:
        receipt = receipt_of(connection, history.run_id, here_figures())
        live = live_of(connection, history.run_id, here_figures())
    assert not receipt.settled
    assert receipt.totals[0].amount > 0
    assert live.cost == receipt.totals[0]
    assert live.steps == 100
    assert live.steps_per_second == pytest.approx(4 / 5)
    assert live.samples_per_second == pytest.approx(4 * 16 / 5)
    assert live.joules_per_sample == pytest.approx(100 / 80)


def test_a_finished_run_verifies(finished_run):
    with finished_run.ledger.read() as connection:
        receipt = receipt_of(connection, finished_run.run_id, here_figures())
    checks = verify_receipt(Settings.load(), finished_run.ledger, receipt)
    assert [check for check in checks if not check.ok] == []
    assert {check.message for check in checks} >= {"verify.charge", "verify.total", "verify.snapshot"}
    assert receipt.settled
    assert receipt.lost == ((1, 57, 50),)
    assert receipt.retained_step == 100


def admitted(history, cores, run_id=None, attempt=1):
    recorder = Recorder(history.ledger, "s")
    figures = here_figures({"cores": "2"})
    with history.ledger.write() as connection:
        return admit(connection, recorder, run_id or history.run_id, attempt, cores, figures, 10**15)


def queued(history, at):
    history.submit(at)
    history.attempt = 1
    body = {"lease_epoch": 1, "lease_holder": "h/1/1", "lease_expires_at": 1, "backend": "local"}
    history.add(EventKind.ATTEMPT_OPENED, at, **body)


def test_cores_are_given_to_one_run_at_a_time(history, new_history, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    second = new_history(history.ledger, "second-0123456789")
    queued(history, 0)
    queued(second, 1)
    answer = admitted(second, 1)
    assert isinstance(answer, Waiting)
    assert answer.message == "queue.behind"
    first = admitted(history, 2)
    assert isinstance(first, str)
    answer = admitted(second, 1)
    assert isinstance(answer, Waiting)
    assert (answer.message, answer.values["free"]) == ("queue.cores_held", 0)
    assert answer.values["holders"] == history.run_id
    history.add(EventKind.ALLOCATION_CLOSED, 5, id=first)
    assert isinstance(admitted(second, 1), str)


def test_what_the_machine_can_never_hold_is_refused(monkeypatch):
    figures = here_figures({"cores": "1"})
    assert machine_cores(figures) == 1
    check_fits(1, figures)
    with pytest.raises(CapacityError) as caught:
        check_fits(2, figures)
    assert caught.value.exit_code == 5


def job(tmp_path, text):
    path = tmp_path / "job.yaml"
    path.write_text(text)
    return path


SPEC = "version: 1\nname: My Job\nentrypoint: python train.py --x 1\nteam: nlp\nneeds: {workers: 1}\n"
TRUE = SPEC.replace("python train.py", "true")


def test_a_job_becomes_a_queued_run(ledger, tmp_path):
    (tmp_path / "train.py").write_text("print(1)")
    path = job(tmp_path, SPEC)
    run_id = create_run(Settings.load(), ledger, load_job(path).spec, path, ("--y", "a b"))
    with ledger.read() as connection:
        run = queries.get_run(connection, run_id)
    assert run_id.startswith("my-job-")
    assert run.state.value == "QUEUED"
    assert run.spec["resolved"]["entrypoint"] == "python train.py --x 1 --y 'a b'"
    assert run.spec["resolved"]["workdir"] == str(tmp_path)
    assert check_code(run)
    (tmp_path / "train.py").write_text("print(2)")
    assert not check_code(run)
    (tmp_path / "train.py").unlink()
    assert not check_code(run)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPEC, "submit.no_script"),
        (SPEC.replace("python train.py", "no-such-program-here"), "submit.no_program"),
        (TRUE + "secrets: [{name: NO_SUCH_TOKEN_X, from: env}]\n", "submit.no_secret"),
        (TRUE + "storage: s3://bucket/x\n", "submit.remote_storage"),
        (TRUE.replace("workers: 1", "workers: 4000"), "capacity.too_few_cores"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_recorded(ledger, home, tmp_path, text, message):
    path = job(tmp_path, text)
    with pytest.raises(HeadwayError) as caught:
        create_run(Settings.load(), ledger, load_job(path).spec, path)
    assert isinstance(caught.value, UserError | CapacityError)
    assert caught.value.message == message
    assert not (home / "runs").exists()
    with ledger.read() as connection:
        assert queries.count_runs(connection) == 0


def test_a_secrets_value_is_never_written_down(ledger, home, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "hf_very-secret-value")
    path = job(
        tmp_path, SPEC.replace("python train.py", "true") + "secrets: [{name: T, from: 'env:MY_TOKEN'}]\n"
    )
    run_id = create_run(Settings.load(), ledger, load_job(path).spec, path)
    with ledger.read() as connection:
        run = queries.get_run(connection, run_id)
    assert run.spec["resolved"]["secrets"] == {"T": "MY_TOKEN"}
    ledger.close()
    for file in home.rglob("*"):
        assert not file.is_file() or b"very-secret-value" not in file.read_bytes()


def test_only_what_ended_short_is_resumed(finished_run, new_history):
    with pytest.raises(StateError):
        reopen_run(finished_run.ledger, finished_run.run_id)
    other = new_history(finished_run.ledger, "other-0123456789")
    other.submit()
    with pytest.raises(StateError):
        reopen_run(other.ledger, other.run_id)
    other.state(1, "CANCELLED")
    reopen_run(other.ledger, other.run_id)
    with other.ledger.read() as connection:
        run = queries.get_run(connection, other.run_id)
    assert (run.state.value, run.ended) == ("QUEUED", None)


def test_the_entrypoint_keeps_its_words(tmp_path, ledger):
    words = [sys.executable, "-c", "print('a b')"]
    entry = json.dumps(shlex.join(words))
    path = job(tmp_path, f"version: 1\nname: x\nentrypoint: {entry}\nneeds: {{workers: 1}}\n")
    run_id = create_run(Settings.load(), ledger, load_job(path).spec, path)
    with ledger.read() as connection:
        entry = queries.get_run(connection, run_id).spec["resolved"]["entrypoint"]
    assert shlex.split(entry) == words
