"""`headway completion`: the script that teaches a shell our commands."""

from __future__ import annotations

import click

from headway.messages import text

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", help=text("cli.completion"))
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from headway.cli.main import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(shell)
    click.echo(kind(cli, {}, "headway", "_HEADWAY_COMPLETE").source())
