"""What becomes of an attempt in a cluster: every way in which it can go on or end."""

from dataclasses import replace

import pytest

from headway.backends.kubernetes.observed import Observation, SeenJob, SeenPod, SeenWorkload
from headway.backends.outcome import Outcome
from headway.controller.cluster_decision import LIVE, SECOND, Recorded, decide, path_to
from headway.runs.states import FailureClass, RunState, check_transition

NOW = 1_000 * SECOND
JOB = SeenJob("r-a1", "ns", "u1", "r", "r-a1", "RUNNING", "Running", "", False, False, None)
HEAD = SeenPod("h", "ns", "p1", "r", True, "n", "Running", False, NOW, None, 1000, 2**30, 0, None, "")
WORKER = replace(HEAD, name="w", uid="p2", is_head=False, gpus=1)
ADMITTED = SeenWorkload("u1", admitted=True, evicted="", said="")
KNOWN = Recorded("r-a1", RunState.RUNNING, True, NOW - 50 * SECOND, NOW - 40 * SECOND, "p1")
FAILED = Outcome(RunState.FAILED, FailureClass.USER, "ValueError: planted", 1)
DONE = Outcome(RunState.SUCCEEDED, exit_code=0)


def seen(job=JOB, pods=(HEAD, WORKER), workload=ADMITTED, at=NOW):
    return Observation(at, job, pods, workload)


def outcome(known=KNOWN, look=None, deadline=None):
    return decide(known, look or seen(), deadline).outcome


def test_it_goes_on_as_long_as_all_is_well():
    assert decide(KNOWN, seen(), None).state is RunState.RUNNING
    assert outcome() is None


@pytest.mark.parametrize(
    ("look", "state", "waits"),
    [
        (
            seen(replace(JOB, suspended=True), (), SeenWorkload("u1", False, "", "no quota")),
            "QUEUED",
            "no quota",
        ),
        (seen(replace(JOB, ray_status=""), ()), "ADMITTED", ""),
        (
            seen(replace(JOB, ray_status=""), (HEAD, replace(WORKER, placed=None, said="0/3 nodes"))),
            "PROVISIONING",
            "0/3 nodes",
        ),
        (seen(replace(JOB, ray_status="")), "STARTING", ""),
        (seen(replace(JOB, ray_status=""), workload=None), "STARTING", ""),
    ],
)
def test_before_its_launch_the_state_says_how_far_it_is(look, state, waits):
    known = Recorded("r-a1", RunState.QUEUED, created=True)
    decision = decide(known, look, None)
    assert (decision.state.value, decision.waits) == (state, waits)


def test_a_look_that_is_older_takes_no_state_back():
    look = seen(replace(JOB, ray_status=""), (replace(HEAD, placed=None),))
    assert decide(KNOWN, look, None).state is RunState.RUNNING


def test_every_way_through_the_live_states_is_allowed():
    for source in LIVE:
        for target in LIVE[LIVE.index(source) :]:
            here = source
            for state in path_to(source, target):
                check_transition(here, state)
                here = state
            assert here is target


def test_success_is_taken_at_its_word_and_a_failure_once_the_cluster_was_seen_after_it():
    assert outcome(replace(KNOWN, outcome=DONE, outcome_at=NOW + 5)) == DONE
    assert outcome(replace(KNOWN, outcome=FAILED, outcome_at=NOW + 5)) is None
    assert outcome(replace(KNOWN, outcome=FAILED, outcome_at=NOW - 5)) == FAILED


@pytest.mark.parametrize(
    "pods",
    [(WORKER,), (replace(HEAD, deleting=True), WORKER)],
    ids=["gone", "leaving"],
)
def test_a_program_whose_machine_was_taken_is_not_to_blame(pods):
    found = outcome(replace(KNOWN, outcome=FAILED, outcome_at=NOW - 5), seen(pods=pods))
    assert (found.state, found.failure) == (RunState.FAILED, FailureClass.INFRA)


@pytest.mark.parametrize("failure", [FailureClass.OOM, FailureClass.PREEMPTION])
def test_what_the_pods_say_of_a_failure_is_its_class(failure):
    pods = (HEAD, replace(WORKER, failure=failure, said="why"))
    found = outcome(replace(KNOWN, outcome=FAILED, outcome_at=NOW - 5), seen(pods=pods))
    assert (found.failure, found.reason) == (failure, "why")


@pytest.mark.parametrize(
    ("look", "failure", "said"),
    [
        (seen(None), "infra", "its RayJob is gone"),
        (seen(replace(JOB, deleting=True)), "infra", "its RayJob was deleted"),
        (seen(pods=(WORKER,)), "infra", "its head was lost"),
        (seen(pods=(replace(HEAD, phase="Failed"), WORKER)), "infra", "its head was lost"),
        (seen(replace(JOB, ray_status="FAILED", said="exit code 75")), "infra", "its head was started twice"),
        (seen(replace(JOB, ray_status="FAILED", said="boom")), "infra", "boom"),
        (seen(replace(JOB, ray_status="", deployment="Failed", said="x: y")), "infra", "x: y"),
        (
            seen(replace(JOB, ray_status="FAILED", said="the node running low on memory")),
            "oom",
            "the node running low on memory",
        ),
        (
            seen(None, (replace(WORKER, failure=FailureClass.PREEMPTION, said="spot"),)),
            "preemption",
            "its RayJob is gone: spot",
        ),
    ],
)
def test_what_is_lost_without_a_word_ends_by_what_the_cluster_shows(look, failure, said):
    found = outcome(look=look)
    assert (found.state.value, found.failure.value, found.reason) == ("FAILED", failure, said)


def test_ray_may_say_that_it_succeeded_where_the_head_could_not():
    assert outcome(look=seen(replace(JOB, ray_status="SUCCEEDED"))).state is RunState.SUCCEEDED


def test_what_is_not_made_yet_is_not_lost():
    known = Recorded("r-a1", RunState.QUEUED)
    assert outcome(known, seen(None, ())) is None


def test_a_head_that_is_lost_before_the_launch_is_made_again_by_the_operator():
    known = Recorded("r-a1", RunState.STARTING, True, NOW - 50 * SECOND)
    assert outcome(known, seen(replace(JOB, ray_status=""), (WORKER,))) is None


def test_a_job_of_the_attempt_before_says_nothing_of_this_one():
    job = replace(JOB, job_id="r-a0", ray_status="FAILED", said="old")
    assert outcome(Recorded("r-a1", RunState.QUEUED, created=True), seen(job)) is None


@pytest.mark.parametrize("workload", [SeenWorkload("u1", False, "Preempted: by a higher one", ""), None])
def test_an_eviction_ends_the_attempt_once_its_machines_are_free_and_keeps_the_job(workload):
    job = replace(JOB, suspended=True, ray_status="")
    going = decide(KNOWN, seen(replace(job, deployment="Suspending"), workload=workload), None)
    assert going.outcome is None
    ended = decide(KNOWN, seen(replace(job, deployment="Suspended"), (), workload), None)
    assert ended.keep_job
    assert ended.outcome.failure is FailureClass.PREEMPTION


def test_an_eviction_explains_the_failure_of_the_program():
    known = replace(KNOWN, outcome=FAILED, outcome_at=NOW - 5)
    job = replace(JOB, suspended=True, deployment="Suspended")
    assert decide(known, seen(job, ()), None).outcome.failure is FailureClass.PREEMPTION


def test_a_job_that_was_never_admitted_is_not_evicted():
    known = Recorded("r-a1", RunState.QUEUED, created=True)
    job = replace(JOB, suspended=True, ray_status="", deployment="Suspended")
    assert outcome(known, seen(job, (), SeenWorkload("u1", False, "Preempted: x", "waits"))) is None


@pytest.mark.parametrize("mode", ["now", "checkpoint"])
def test_a_stop_before_the_launch_is_done_at_once(mode):
    known = Recorded("r-a1", RunState.STARTING, True, NOW - 9, stop=mode, stop_at=NOW)
    assert outcome(known).state is RunState.CANCELLED


def test_a_stop_at_once_waits_a_little_for_the_heads_word_and_one_at_a_checkpoint_for_as_long_as_it_takes():
    now = replace(KNOWN, stop="now", stop_at=NOW)
    assert outcome(now) is None
    assert outcome(now, seen(at=NOW + 16 * SECOND)).state is RunState.CANCELLED
    gently = replace(KNOWN, stop="checkpoint", stop_at=NOW)
    assert outcome(gently, seen(at=NOW + 999 * SECOND)) is None
    said = Outcome(RunState.CANCELLED, reason="stopped after a checkpoint")
    assert outcome(replace(gently, outcome=said, outcome_at=NOW + 5)) == said


def test_a_run_that_was_to_stop_and_is_lost_has_stopped():
    found = outcome(replace(KNOWN, stop="checkpoint", stop_at=NOW), seen(None))
    assert (found.state, found.failure) == (RunState.CANCELLED, None)


def test_a_run_over_its_budget_fails_by_it_unless_it_was_done():
    stopped = Outcome(RunState.CANCELLED, reason="stopped after a checkpoint", exit_code=0)
    known = replace(KNOWN, over_budget=True, stop="checkpoint", stop_at=NOW, outcome_at=NOW - 5)
    found = outcome(replace(known, outcome=stopped))
    assert (found.state, found.failure) == (RunState.FAILED, FailureClass.BUDGET)
    assert outcome(replace(known, outcome=DONE)) == DONE


def test_the_start_deadline_gives_capacity_back_and_says_why():
    known = Recorded("r-a1", RunState.PROVISIONING, True, NOW - 61 * SECOND)
    look = seen(replace(JOB, ray_status=""), (replace(HEAD, placed=None, said="0/3 nodes are available"),))
    assert outcome(known, look, 120 * SECOND) is None
    found = outcome(known, look, 60 * SECOND)
    assert found.failure is FailureClass.START_TIMEOUT
    assert found.reason == "not started 61 s after it was admitted: 0/3 nodes are available"
    assert outcome(KNOWN, deadline=1) is None  # launched is started


def test_an_image_that_cannot_be_had_ends_the_attempt_after_a_while():
    known = Recorded("r-a1", RunState.STARTING, True, NOW)
    pods = (replace(HEAD, failure=FailureClass.IMAGE, said="ErrImagePull: no such tag"),)
    look = seen(replace(JOB, ray_status=""), pods)
    assert outcome(known, look) is None
    found = outcome(known, replace(look, at=NOW + 121 * SECOND))
    assert (found.failure, found.reason) == (FailureClass.IMAGE, "ErrImagePull: no such tag")
