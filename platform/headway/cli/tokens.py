"""`headway tokens`: who may call the gateway."""

from __future__ import annotations

import click

from headway.cli.render import columns, emit, output_option, say
from headway.messages import text

SECOND = 1_000_000


@click.group("tokens", help=text("cli.tokens"))
def command() -> None:
    """Tokens of people and agents."""


@command.command("create", help=text("cli.tokens_create"))
@click.argument("principal", metavar="WHO")
@click.option("--team", help=text("cli.token_team"))
@click.option(
    "--role",
    type=click.Choice(["user", "admin", "agent"]),
    default="user",
    show_default=True,
    help=text("cli.role"),
)
@click.option("--days", type=click.IntRange(1, 3650), help=text("cli.token_days"))
def create(principal: str, team: str | None, role: str, days: int | None) -> None:
    """Make a token and print it, once."""
    from headway.cli.session import session
    from headway.errors import UserError
    from headway.runs import tokens
    from headway.runs.store import now_microseconds

    if not principal.isprintable() or not 0 < len(principal) <= 80:
        raise UserError("tokens.bad_name")
    if role == "user" and team is None:
        raise UserError("tokens.no_team")
    now = now_microseconds()
    who = tokens.Principal(principal, tokens.Role(role), team)
    with session() as where, where.ledger.write() as connection:
        expires = None if days is None else now + days * 86_400 * SECOND
        token = tokens.issue(connection, who, now, expires)
    click.echo(token)
    say(text("tokens.made", who=principal))


@command.command("list", help=text("cli.tokens_list"))
@output_option
def list_them(output: str) -> None:
    """List tokens: never the tokens themselves."""
    from headway.cli.session import session
    from headway.reports.document import SCHEMA_VERSION, iso_time
    from headway.runs import tokens

    with session() as where, where.ledger.read() as connection:
        found = tokens.list_tokens(connection)
    rows = [
        {
            "id": one.id,
            "principal": one.principal,
            "role": one.role.value,
            "team": one.team,
            "created": iso_time(one.created),
            "expires": None if one.expires is None else iso_time(one.expires),
            "revoked": None if one.revoked is None else iso_time(one.revoked),
        }
        for one in found
    ]
    head = list(rows[0]) if rows else []
    emit(
        output,
        {"schema_version": SCHEMA_VERSION, "tokens": rows},
        rows,
        lambda: (
            columns([head, *([str(value or "-") for value in row.values()] for row in rows)])
            if rows
            else text("tokens.none")
        ),
    )


@command.command("revoke", help=text("cli.tokens_revoke"))
@click.argument("token", metavar="ID")
def revoke(token: str) -> None:
    """End a token by its id, or all of somebody's by the name."""
    from headway.cli.session import session
    from headway.runs import tokens
    from headway.runs.store import now_microseconds

    with session() as where, where.ledger.write() as connection:
        count = tokens.revoke(connection, token, now_microseconds())
    say(text("tokens.revoked", count=count))
