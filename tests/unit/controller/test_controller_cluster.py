"""The controller over a cluster that is played: what it makes, meters, retries, cleans up, also after a kill.

The real API server, operators and pods are in tests/cluster; here every step between two kills is looked at.
"""

import json
from decimal import Decimal

import pytest
import yaml

from headway.backends.kubernetes.api import Abilities
from headway.controller import cluster as step_module
from headway.controller.cluster import ClusterDispatch
from headway.errors import StateError
from headway.runs import bills, queries, tokens
from headway.runs.events import EventKind as K
from headway.runs.store import Ledger, Recorder, now_microseconds
from headway.settings import Settings
from headway.spec.files import load_cluster

SITES = """\
version: 1
sites:
  - kind: owned
    name: lab
    location: FR
    currency: USD
    server: {price: 84096 USD, cores: 1, gpus: 1, accelerator: l4, memory: 6GiB}
    life_years: 4
    power_watts: 400
    tariff: 0.10 USD
    pools: [{name: local, max_nodes: 4}]
    sensitivities: [public, internal]
here: {core_price: 0.04 USD, tariff: 0.15 USD, utilisation: 0.6, location: FRA}
"""
CLUSTER = {
    "version": 1,
    "gateway": "http://gateway",
    "image": "ray:1",
    "namespace": "ns",
    "storage": {"claim": "storage", "path": "/storage"},
    "pools": [{"name": "local", "site": "lab", "pool": "local"}],
    "start_deadline": "10m",
}
QUEUES = {"localqueues": ["default"], "workloadpriorityclasses": []}


class KilledError(Exception):
    """The controller ended here."""


class PlayedCluster:
    """What the API server would hold; `dies_at` names the call after which the controller is killed."""

    def __init__(self):
        self.jobs, self.secrets, self.pod_list, self.queued = {}, {}, [], []
        self.kueue = "v1beta2"
        self.dies_at = None
        self.made = []

    def _may_die(self, call):
        if self.dies_at == call:
            self.dies_at = None
            raise KilledError(call)

    def abilities(self):
        return Abilities(ray_token=True, kueue=self.kueue)

    def ray_jobs(self):
        return list(self.jobs.values())

    def pods(self):
        return list(self.pod_list)

    def nodes(self, label):
        return [
            {
                "metadata": {"name": "n1", "labels": {label: "local"}},
                "status": {"capacity": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "4"}},
            }
        ]

    def workloads(self, _version):
        return list(self.queued)

    def queues(self, _version, _namespace):
        return ["default"] if self.kueue else []

    def priorities(self, _version):
        return []

    def cluster_thing(self, _kind, name):
        return {} if name == "ns" else None

    def get(self, kind, _namespace, name):
        if kind[1] == "persistentvolumeclaims":
            return {}
        return (self.jobs if kind[1] == "rayjobs" else self.secrets).get(name)

    def create(self, kind, thing):
        name = thing["metadata"]["name"]
        where = self.jobs if kind[1] == "rayjobs" else self.secrets
        if name in where:
            raise StateError("kubernetes.conflict", path=name, said="exists")
        thing["metadata"]["uid"] = f"uid-{len(self.made)}"
        where[name] = thing
        self.made.append((kind[1], name))
        self._may_die(f"create {kind[1]}")
        return thing

    def patch(self, kind, _namespace, name, patch):
        where = self.jobs if kind[1] == "rayjobs" else self.secrets
        for part, value in patch.items():
            where[name].setdefault(part, {}).update(value)
        self._may_die(f"patch {kind[1]}")
        return where[name]

    def delete(self, kind, _namespace, name):
        (self.jobs if kind[1] == "rayjobs" else self.secrets).pop(name, None)
        self._may_die(f"delete {kind[1]}")

    def pod(self, run, name, *, head=False, placed="2026-01-01T00:00:00Z", gpus=1, cpu="1"):
        labels = {"headway.dev/run": run, "ray.io/node-type": "head" if head else "worker"}
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": placed}
        requests = {"cpu": cpu, "memory": "1Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        self.pod_list.append(
            {
                "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": labels},
                "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": requests}}]},
                "status": {"phase": "Running", "conditions": [condition]},
            }
        )

    def ray_says(self, name, status, deployment="Running", **more):
        self.jobs[name]["status"] = {"jobStatus": status, "jobDeploymentStatus": deployment, **more}


@pytest.fixture
def played():
    return PlayedCluster()


@pytest.fixture
def dispatch(home, ledger, played, monkeypatch):
    home.mkdir(parents=True, exist_ok=True)
    (home / "sites.yaml").write_text(SITES)
    (home / "cluster.yaml").write_text(yaml.safe_dump(CLUSTER))
    monkeypatch.setenv("HEADWAY_SITES", str(home / "sites.yaml"))
    monkeypatch.setattr(step_module, "LOOK_SECONDS", 0.0)

    def new():
        cluster = load_cluster(home / "cluster.yaml")
        return ClusterDispatch(
            Settings.load(), ledger, Recorder(ledger, "controller"), cluster, lambda: played
        )

    return new


@pytest.fixture
def submit(ledger):
    def one(name="r", **job):
        run_id = f"{name}-0123456789"
        spec = {"version": 1, "name": name, "entrypoint": "true", "needs": {"workers": 2, "gpus": 2}, **job}
        resolved = {"dispatch": "controller", "env": {}, "secrets": {}, "retries": {}, "storage": None}
        resolved |= job.pop("resolved", {})
        spec.pop("resolved", None)
        body = {"name": name, "team": "t", "spec": {"job": spec, "resolved": resolved}}
        Recorder(ledger, f"test:{run_id}").append(K.SUBMITTED, body, run_id)
        return run_id

    return one


def look(ledger: Ledger, run_id):
    with ledger.read() as connection:
        return queries.get_run(connection, run_id), queries.attempts(connection, run_id)


def note(ledger, run_id, attempt=1, **body):
    Recorder(ledger, f"head:{run_id}:{now_microseconds()}").append(K.NOTE, body, run_id, attempt)


def start(played, ledger, step, run, state="RUNNING"):
    """Bring a run to RUNNING with a head and two workers."""
    step.step()
    name = f"{run}-a1"
    played.pod(run, "h", head=True, gpus=0)
    played.pod(run, "w1")
    played.pod(run, "w2")
    step.step()
    note(ledger, run, what="launched", claim="c")
    played.ray_says(name, "RUNNING")
    step.step()
    assert look(ledger, run)[0].state.value == state
    return name


def end(played, ledger, run, state="SUCCEEDED", failure=None):
    note(ledger, run, what="outcome", state=state, failure_class=failure, reason=None, exit_code=0)


def test_a_run_is_made_watched_charged_and_taken_away(dispatch, played, ledger, submit):
    run = submit()
    step = dispatch()
    start(played, ledger, step, run)
    assert played.secrets[f"{run}-a1"]["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    end(played, ledger, run)
    step.step()
    assert (played.jobs, played.secrets) == ({}, {})
    assert look(ledger, run)[0].state.value == "RUNNING"  # its pods still hold machines
    played.pod_list.clear()
    step.step()
    found, attempts = look(ledger, run)
    assert (found.state.value, attempts[0].state.value) == ("SUCCEEDED", "SUCCEEDED")
    with ledger.read() as connection:
        lines = bills.lines_of(connection, run)
        assert {line.unit for line in lines} == {"node-hour"}
        assert sum(Decimal(line.amount_nano) for line in lines) > 0
        assert [row for row in tokens.list_tokens(connection) if row.revoked is None] == []


def test_two_pods_of_a_node_never_pay_for_more_than_the_node(dispatch, played, ledger, submit):
    run = submit()
    step = dispatch()
    step.step()
    for number in range(4):
        played.pod(run, f"w{number}", cpu="64")
    step.step()
    with ledger.read() as connection:
        rows = connection.exec_driver_sql("SELECT share_num, share_den FROM allocation").all()
    assert len(rows) == 4
    assert sum(row[0] / row[1] for row in rows) <= 1


@pytest.mark.parametrize(
    "call", ["create secrets", "create rayjobs", "patch secrets", "delete rayjobs", "delete secrets"]
)
def test_a_controller_that_is_killed_between_two_calls_is_followed_by_one_that_goes_on(
    dispatch, played, ledger, submit, call
):
    run = submit()
    step = dispatch()
    played.dies_at = call
    if call.startswith("delete"):
        start(played, ledger, step, run)
        end(played, ledger, run)
        played.pod_list.clear()
    with pytest.raises(KilledError):
        step.step()
    step = dispatch()
    if not call.startswith("delete"):
        step.step()
        assert list(played.jobs) == [f"{run}-a1"]
        assert [kind for kind, _name in played.made].count("rayjobs") == 1
        start(played, ledger, step, run)
        end(played, ledger, run)
        played.pod_list.clear()
    for _again in range(3):
        step.step()
    found, attempts = look(ledger, run)
    assert (found.state.value, len(attempts)) == ("SUCCEEDED", 1)
    assert (played.jobs, played.secrets) == ({}, {})


def test_a_lost_run_is_tried_again_where_it_can_go_on_and_a_users_error_is_not(
    dispatch, played, ledger, submit, monkeypatch
):
    run = submit()
    step = dispatch()
    name = start(played, ledger, step, run)
    Recorder(ledger, "head").append(K.WORLD, {"workers": 2}, run, 1)
    played.pod_list.clear()
    step.step()
    step.step()
    found, attempts = look(ledger, run)
    assert (found.state.value, attempts[0].failure_class) == ("RESTARTING", "infra")
    assert name not in played.jobs
    monkeypatch.setattr(step_module, "now_microseconds", lambda: now_microseconds() + 10_000_000)
    step.step()
    assert list(played.jobs) == [f"{run}-a2"]
    assert look(ledger, run)[1][1].n == 2

    note(ledger, run, 2, what="launched", claim="d")
    note(ledger, run, 2, what="outcome", state="FAILED", failure_class="user", reason="boom", exit_code=1)
    played.pod(run, "h2", head=True)
    for _again in range(2):
        step.step()
        played.pod_list.clear()
    step.step()
    found, _attempts = look(ledger, run)
    assert (found.state.value, found.failure_class, found.reason) == ("FAILED", "user", "boom")


def test_an_evicted_job_is_given_to_the_next_attempt(dispatch, played, ledger, submit):
    run = submit()
    step = dispatch()
    name = start(played, ledger, step, run)
    played.jobs[name]["spec"]["suspend"] = True
    played.ray_says(name, "", "Suspending")
    step.step()
    assert len(look(ledger, run)[1]) == 1
    played.pod_list.clear()
    played.ray_says(name, "", "Suspended")
    step.step()
    played.dies_at = "patch rayjobs"
    with pytest.raises(KilledError):
        step.step()
    found, attempts = look(ledger, run)
    assert [one.failure_class for one in attempts] == ["preemption", None]
    assert found.state.value == "RESTARTING"
    assert played.jobs[name]["spec"]["jobId"] == f"{run}-a2"
    step = dispatch()
    played.jobs[name]["spec"]["suspend"] = False
    step.step()
    assert [kind for kind, _name in played.made].count("rayjobs") == 1


def test_a_stop_while_waiting_makes_nothing_and_one_in_the_queue_takes_it_away(
    dispatch, played, ledger, submit
):
    first = submit("a")
    Recorder(ledger, "cli").append(K.STOP_REQUESTED, {"mode": "now"}, first, 1)
    second = submit("b")
    step = dispatch()
    step.step()
    assert look(ledger, first)[0].state.value == "CANCELLED"
    assert list(played.jobs) == [f"{second}-a1"]
    Recorder(ledger, "cli").append(K.STOP_REQUESTED, {"mode": "checkpoint"}, second, 1)
    for _again in range(3):
        step.step()
    assert look(ledger, second)[0].state.value == "CANCELLED"
    assert (played.jobs, played.secrets) == ({}, {})


def test_without_kueue_the_first_submitted_is_the_first_to_start(dispatch, played, ledger, submit):
    played.kueue = None
    first, second = submit("a"), submit("b")
    step = dispatch()
    step.step()
    assert list(played.jobs) == [f"{first}-a1"]
    assert look(ledger, second)[0].reason == "waits for its turn: 1 are ahead"
    start(played, ledger, step, first)
    step.step()
    assert sorted(played.jobs) == [f"{first}-a1", f"{second}-a1"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"queue": "no-such"}, "no-such"),
        ({"needs": {"workers": 1, "gpus": 8}}, "lab/local"),
        ({"limits": {"sites": ["elsewhere"]}}, "elsewhere"),
        ({"limits": {"budget": "5 EUR"}}, "EUR"),
        ({"resolved": {"secrets": {"A": "NOT_SET_ANYWHERE"}}}, "NOT_SET_ANYWHERE"),
        ({"resolved": {"storage": "/elsewhere"}}, "/elsewhere"),
    ],
)
def test_what_cannot_be_is_refused_and_says_why(dispatch, played, ledger, submit, job, said):
    run = submit(**job)
    dispatch().step()
    found, attempts = look(ledger, run)
    assert (found.state.value, found.failure_class, attempts) == ("FAILED", "user", [])
    assert said in found.reason
    assert played.made == []


def test_a_run_over_its_budget_is_stopped_after_a_checkpoint(dispatch, played, ledger, submit):
    run = submit(limits={"budget": "0.01 USD"})
    step = dispatch()
    start(played, ledger, step, run, "STARTING")  # its pods were placed long ago: it is over at once
    step.step()
    step.step()
    with ledger.read() as connection:
        assert queries.stop_requests(connection, run, 1) == ["checkpoint"]
    end(played, ledger, run, "CANCELLED")
    step.step()
    played.pod_list.clear()
    step.step()
    found, _attempts = look(ledger, run)
    assert (found.state.value, found.failure_class) == ("FAILED", "budget")


def test_what_an_ended_run_left_is_swept_away_and_what_nobody_knows_stays(dispatch, played, ledger, submit):
    run = submit()
    step = dispatch()
    step.step()
    Recorder(ledger, "x").append(K.RUN_STATE, {"to": "CANCELLED"}, run)
    stranger = json.loads(json.dumps(played.jobs[f"{run}-a1"]))
    stranger["metadata"] |= {
        "name": "s",
        "labels": {**stranger["metadata"]["labels"], "headway.dev/run": "s"},
    }
    played.jobs["s"] = stranger
    step.step()
    assert list(played.jobs) == ["s"]
