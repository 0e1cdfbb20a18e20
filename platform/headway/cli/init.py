"""`headway init`: a first job file, by looking at a script."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from headway.cli.render import say
from headway.messages import text


@click.command("init", help=text("cli.init"))
@click.argument("script", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help=text("cli.force"))
def command(script: Path, force: bool) -> None:
    """Write SCRIPT's job file beside it; an existing file is kept."""
    from headway.controller.first_job import job_text, look_at
    from headway.errors import UserError
    from headway.spec.files import load_job

    seen = look_at(script)
    target = script.with_suffix(".yaml")
    if target.exists() and not force:
        raise UserError("init.exists", path=target)
    draft = target.with_name(f".{target.name}.draft")
    draft.write_text(job_text(script, seen), encoding="utf-8")
    try:
        load_job(draft)
    except BaseException:
        draft.unlink()
        raise
    draft.rename(target)
    click.echo(str(target))
    say(text(f"init.{seen.kind}"))
    say(text("init.next", path=shlex.quote(str(target))))
