"""`headway resume`: a new attempt of a run that failed or was stopped, from its last checkpoint."""

from __future__ import annotations

import click

from headway.cli.render import say
from headway.messages import text


@click.command("resume", help=text("cli.resume"))
@click.argument("run_id", metavar="RUN")
@click.option("-d", "--detach", is_flag=True, help=text("cli.detach"))
def command(run_id: str, detach: bool) -> None:
    """Resume a run."""
    from headway.cli.session import session
    from headway.controller.dispatch import is_dispatched
    from headway.controller.submit import check_code, reopen_run, start_supervisor
    from headway.runs import queries

    with session() as where:
        with where.ledger.read() as connection:
            run = queries.get_run(connection, run_id)
        if not is_dispatched(run) and not check_code(run):
            say(text("resume.code_changed", run=run.id))
        reopen_run(where.ledger, run.id)
        in_cluster = where.settings.cluster_path is not None and is_dispatched(run)
        if not in_cluster:  # there the controller opens the next attempt
            start_supervisor(where.settings, run.id)
        if detach or in_cluster:
            click.echo(run.id)
            return
        from headway.cli.watch import conclude, watch

        conclude(where, watch(where, run.id))
