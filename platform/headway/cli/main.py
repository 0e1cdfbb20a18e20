"""`headway`: each command is a module of its own, imported only when it is called."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from typing import cast

import click

from headway.messages import text

COMMANDS = (
    "init",
    "plan",
    "profile",
    "gate",
    "techniques",
    "run",
    "submit",
    "resubmit",
    "ls",
    "show",
    "logs",
    "stop",
    "resume",
    "receipt",
    "compare",
    "advise",
    "whatif",
    "breakeven",
    "budget",
    "export",
    "dashboard",
    "serve",
    "controller",
    "up",
    "down",
    "status",
    "tokens",
    "sites",
    "prices",
    "accelerators",
    "doctor",
    "config",
    "completion",
)
_DEBUG = "HEADWAY_DEBUG"


class Commands(click.Group):
    """Lists commands from the catalogue of messages, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The commands, in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command's module now that it is called."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"headway.cli.{cmd_name}")
        return cast("click.Command", module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The commands and what each does."""
        with formatter.section(text("cli.commands")):
            formatter.write_dl([(name, text(f"cli.{name}")) for name in COMMANDS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one gets the nearest name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = text("cli.did_you_mean", name=near[0]) if near else text("cli.see_help")
            raise click.UsageError(text("cli.unknown_command", name=name) + " " + hint, ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, help=text("cli.about"), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headway", message="headway %(version)s")
@click.option("--debug", is_flag=True, help=text("cli.debug"))
def cli(debug: bool) -> None:
    """The root of all commands."""
    if debug:
        os.environ[_DEBUG] = "1"


def main() -> None:
    """Run the command line; errors become one message and an exit code."""
    from headway.errors import HeadwayError

    try:
        result = cli.main(standalone_mode=False, prog_name="headway")
        code = result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        sys.stdout = None
        code = 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo(text("cli.no_space", cause=error), err=True)
        sys.stdout = None
        code = 1
    except HeadwayError as error:
        if os.environ.get(_DEBUG):
            traceback.print_exc()
        _show(error)
        code = error.exit_code
    sys.exit(code)


def _show(error: object) -> None:
    from headway.errors import HeadwayError
    from headway.spec.problems import SpecProblems

    if isinstance(error, SpecProblems):
        click.echo(error.render(), err=True)
    elif isinstance(error, HeadwayError):
        click.echo(f"{error}  [{error.code}]", err=True)
        if error.hint:
            click.echo(error.hint, err=True)


if __name__ == "__main__":
    main()
