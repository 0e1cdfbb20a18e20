"""`headway resubmit`: the same spec and code again, as a new run."""

from __future__ import annotations

import click

from headway.messages import text


@click.command("resubmit", help=text("cli.resubmit"))
@click.argument("run_id", metavar="RUN")
@click.option("-d", "--detach", is_flag=True, help=text("cli.detach"))
@click.option("--address", help=text("cli.address"))
def command(run_id: str, detach: bool, address: str | None) -> None:
    """Run a run again."""
    from urllib.parse import quote

    from headway.cli.submit import api_of, follow

    api = api_of(address)
    new = api.call("POST", f"/v1/runs/{quote(run_id, safe='')}/resubmit")["id"]
    follow(api, new, detach=detach)
