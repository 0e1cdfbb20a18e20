"""`headway run`: check the job file, start the run, watch it, and print its receipt."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.render import say
from headway.messages import text


@click.command("run", help=text("cli.run"), context_settings={"ignore_unknown_options": True})
@click.argument("job", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@click.option("-d", "--detach", is_flag=True, help=text("cli.detach"))
def command(job: Path, arguments: tuple[str, ...], overrides: tuple[str, ...], detach: bool) -> None:
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
        run_id = create_run(where.settings, where.ledger, loaded.spec, job, arguments)
        start_supervisor(where.settings, run_id)
        if detach:
            click.echo(run_id)
            say(text("run.detached", run=run_id))
            return
        from headway.cli.watch import conclude, watch

        say(text("run.started", run=run_id))
        conclude(where, watch(where, run_id))
