"""`headway submit`: hand a job file and its code to a gateway, and follow what it prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.render import say
from headway.messages import text

if TYPE_CHECKING:
    from headway.cli.api import Api
    from headway.profile.gated import Gated
    from headway.settings import Settings


@click.command("submit", help=text("cli.submit"), context_settings={"ignore_unknown_options": True})
@click.argument("job", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@click.option("-d", "--detach", is_flag=True, help=text("cli.detach"))
@click.option("--key", help=text("cli.request_key"))
@click.option("--address", help=text("cli.address"))
@click.option("--dry-run", type=click.Choice(["client", "server"]), help=text("cli.dry_run"))
def command(
    job: Path,
    arguments: tuple[str, ...],
    overrides: tuple[str, ...],
    detach: bool,
    key: str | None,
    address: str | None,
    dry_run: str | None,
) -> None:
    """Submit a job file, or a sample by its name."""
    import shlex

    from headway.controller.packing import pack
    from headway.controller.samples import resolve_job
    from headway.controller.submit import prepare
    from headway.controller.workdir import find_workdir
    from headway.settings import Settings
    from headway.spec.enforced import not_enforced
    from headway.spec.files import load_job

    job = resolve_job(job)
    loaded = load_job(job, overrides)
    settings = Settings.load()
    ignored = not_enforced(loaded.spec, in_cluster=settings.cluster_path is not None)
    if ignored:
        say(text("run.not_enforced", keys=", ".join(ignored)))
    entrypoint = shlex.join([*shlex.split(loaded.spec.entrypoint), *arguments])
    workdir, script = find_workdir(entrypoint, job, Path.cwd())
    prepared = prepare(settings, loaded.spec, workdir, script, _say_gate)
    if dry_run is not None:
        _try(settings, loaded.spec.to_data(), {**prepared, "entrypoint": entrypoint}, dry_run)
        return
    api = api_of(address)
    file, sha256 = pack(workdir)
    name = f"hw_{sha256[:40]}.zip"
    with file:
        if not api.has_package(name):
            api.call("PUT", f"/api/packages/gcs/{name}", file=file)
    body = {
        "job": loaded.spec.to_data(),
        "prepared": {**prepared, "entrypoint": entrypoint},
        "package": name,
        "request_key": key,
    }
    run_id = api.call("POST", "/v1/runs", {k: v for k, v in body.items() if v is not None})["id"]
    follow(api, run_id, detach=detach)


def _try(settings: Settings, job: dict[str, Any], prepared: dict[str, object], where: str) -> None:
    """Print the objects that the job would be in the cluster; `server` has the API server check them."""
    import yaml

    from headway.backends.kubernetes.api import Kubernetes
    from headway.controller.cluster_trial import objects_of, trial_run
    from headway.errors import UserError
    from headway.gateway.submissions import from_job
    from headway.runs.tokens import Principal, Role
    from headway.spec.files import load_cluster

    if settings.cluster_path is None:
        raise UserError("kubernetes.no_cluster_file")
    cluster = load_cluster(settings.cluster_path)
    found = from_job(job, prepared, None, None, "", Principal("dry-run", Role.ADMIN))
    connected = Kubernetes.connect() if where == "server" else None
    things = objects_of(settings, cluster, trial_run(found.body), connected)
    click.echo(yaml.safe_dump_all(things, sort_keys=False), nl=False)
    if connected is not None:
        namespace = things[0]["metadata"]["namespace"]
        say(text("kubernetes.dry_run", count=len(things), namespace=namespace))


def api_of(address: str | None) -> Api:
    """The gateway that the command, or else the settings, name."""
    from headway.cli.api import Api
    from headway.settings import Settings

    settings = Settings.load()
    return Api((address or settings.get("address")).rstrip("/"), settings.get("token"))


def follow(api: Api, run_id: str, *, detach: bool) -> None:
    """Say which run it is; unless detached, show its log and end as it ends."""
    click.echo(run_id)
    if detach:
        return
    from headway.errors import RunFailedError, RunStoppedError

    say(text("submit.following", run=run_id))

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    api.follow(run_id, write)
    run = api.call("GET", f"/v1/runs/{run_id}")
    say(text("submit.ended", run=run_id, state=run["state"]))
    tries = run["attempts"]
    values = {
        "run": run_id,
        "reason": run["reason"],
        "failure": run["failure_class"],
        "attempt": tries[-1]["n"] if tries else 0,
    }
    if run["state"] == "FAILED":
        raise RunFailedError("submit.failed", **values)
    if run["state"] != "SUCCEEDED":
        raise RunStoppedError("submit.stopped", **values)


def _say_gate(found: Gated) -> None:
    from headway.cli.gate import verdict

    say(verdict(found))
