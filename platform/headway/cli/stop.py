"""`headway stop`: end a run after a checkpoint, or at once."""

from __future__ import annotations

import time

import click

from headway.cli.render import say
from headway.messages import text

WAIT_SECONDS = 0.3


@click.command("stop", help=text("cli.stop"))
@click.argument("run_id", metavar="RUN")
@click.option("--now", is_flag=True, help=text("cli.now"))
@click.option("--no-wait", is_flag=True, help=text("cli.no_wait"))
def command(run_id: str, now: bool, no_wait: bool) -> None:
    """Stop a run."""
    from headway.cli.session import session
    from headway.controller.reaper import reap
    from headway.controller.submit import request_stop
    from headway.runs import queries

    with session() as where:
        with where.ledger.read() as connection:
            run = queries.get_run(connection, run_id)
        if run.state.is_terminal:
            say(text("runs.already_ended", run=run.id, state=run.state.value))
            return
        request_stop(where.ledger, run.id, "now" if now else "checkpoint")
        if no_wait:
            say(text("stop.asked", run=run.id))
            return
        while not run.state.is_terminal:
            time.sleep(WAIT_SECONDS)
            reap(where.settings, where.ledger)
            with where.ledger.read() as connection:
                run = queries.get_run(connection, run.id)
        say(text("stop.done", run=run.id, state=run.state.value))
