"""`headway down`: end what `headway up` started; runs go on under their supervisors."""

from __future__ import annotations

import click

from headway.cli.render import say
from headway.messages import text


@click.command("down", help=text("cli.down"))
def command() -> None:
    """Stop the local services."""
    from headway.controller import services
    from headway.settings import Settings

    settings = Settings.load()
    ended = [name for name in reversed(services.NAMES) if services.stop(settings, name)]
    say(text("services.down", names=", ".join(ended)) if ended else text("services.none"))
