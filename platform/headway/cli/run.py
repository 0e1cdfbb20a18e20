"""`headway run`: check the job file, start the run, watch it, and print its receipt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.render import say
from headway.messages import text

if TYPE_CHECKING:
    from headway.profile.gated import Gated
    from headway.settings import Settings
    from headway.spec.job import JobSpec


@click.command("run", help=text("cli.run"), context_settings={"ignore_unknown_options": True})
@click.argument("job", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@click.option("-d", "--detach", is_flag=True, help=text("cli.detach"))
@click.option("--shutdown-when-done", "shutdown", is_flag=True, help=text("cli.shutdown"))
@click.option("-y", "--yes", is_flag=True, help=text("cli.yes"))
def command(
    job: Path, arguments: tuple[str, ...], overrides: tuple[str, ...], detach: bool, shutdown: bool, yes: bool
) -> None:
    """Run a job file, or a sample by its name; words after it are added to the entrypoint."""
    from headway.cli.session import session
    from headway.controller.samples import resolve_job
    from headway.controller.submit import create_run, start_supervisor
    from headway.spec.enforced import not_enforced
    from headway.spec.files import load_job

    job = resolve_job(job)
    loaded = load_job(job, overrides)
    with session() as where:
        ignored = not_enforced(loaded.spec)
        if ignored:
            say(text("run.not_enforced", keys=", ".join(ignored)))
        if shutdown:
            _confirm_shutdown(where.settings, yes=yes)
        _say_plan(where.settings, loaded.spec, job)
        run_id = create_run(
            where.settings, where.ledger, loaded.spec, job, arguments, shutdown=shutdown, tell=_say_gate
        )
        start_supervisor(where.settings, run_id)
        if detach:
            click.echo(run_id)
            say(text("run.detached", run=run_id))
            return
        from headway.cli.watch import conclude, watch

        say(text("run.started", run=run_id))
        conclude(where, watch(where, run_id))


def _say_gate(found: Gated) -> None:
    from headway.cli.gate import verdict

    say(verdict(found))


def _say_plan(settings: Settings, spec: JobSpec, job: Path) -> None:
    """What the run should take here, before it starts, where the job file says what is trained."""
    if spec.workload is None or spec.workload.model is None:
        return
    from headway.controller.planning import plan_job
    from headway.controller.tracing import folder_of
    from headway.errors import UserError
    from headway.reports.plan import plan_rows

    try:
        planned = plan_job(settings, spec, folder_of(spec, job))
    except UserError as error:
        say(text("run.no_plan", reason=error))
        return
    rivals = planned.result.rivals
    here = next(
        (
            row
            for row, rival in zip(plan_rows(planned.result), rivals, strict=True)
            if rival.offering.launchable
        ),
        None,
    )
    if here is not None:
        say(text("run.plan", time=here.time, cost=here.cost, kwh=here.kwh, carbon=here.carbon))


def _confirm_shutdown(settings: Settings, *, yes: bool) -> None:
    """Say what a shutdown saves, and ask once."""
    from headway.controller.cores import machine_cores
    from headway.controller.figures import figures_of
    from headway.costing.here import core_hour_price
    from headway.errors import UserError
    from headway.units import Money

    figures = figures_of(settings)
    hour = Money(core_hour_price(figures) * machine_cores(figures), figures.currency)
    say(text("run.shutdown", hour=hour, day=Money(hour.amount * 24, hour.currency)))
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError("run.needs_yes")
    click.confirm(text("run.ask_shutdown"), abort=True, err=True)
