"""Who may call: principals (a user, an agent, a run) and the hashes of their bearer tokens.

A token has 256 random bits, so a plain SHA-256 of it can be kept: there is nothing to guess. The token
itself is shown once, when it is made.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from sqlalchemy import Connection, func, insert, select, update

from headway.errors import NotFoundError
from headway.runs import tables
from headway.runs.projection import insert_new

PREFIX = "hw_"
_SHOWN = 12


class Role(StrEnum):
    """What a principal may do."""

    ADMIN = "admin"  # everything, for every team
    USER = "user"  # the runs of its own team
    AGENT = "agent"  # post usage, and nothing else
    RUN = "run"  # post about one run and fetch its package, and nothing else


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls; `team` None means every team, `run_id` is set for a run's own token."""

    id: str
    role: Role
    team: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as it can be listed: the head of its hash, never the token."""

    id: str
    principal: str
    role: Role
    team: str | None
    created: int
    expires: int | None
    revoked: int | None


def token_hash(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def issue(connection: Connection, who: Principal, now: int, expires: int | None = None) -> str:
    """Make a token for a principal, which is made or brought up to date; gives the token, once."""
    table = tables.principal
    row = {"id": who.id, "kind": who.role.value, "team_id": who.team}
    if not insert_new(connection, table, row):
        connection.execute(
            update(table).where(table.c.id == who.id).values(kind=who.role.value, team_id=who.team)
        )
    token = PREFIX + secrets.token_urlsafe(32)
    connection.execute(
        insert(tables.token).values(
            sha256=token_hash(token), principal_id=who.id, run_id=who.run_id, created=now, expires=expires
        )
    )
    return token


def find(connection: Connection, token: str, now: int) -> Principal | None:
    """Whose token this is, or None where it is unknown, revoked or expired."""
    keep, owner = tables.token, tables.principal
    row = connection.execute(
        select(keep, owner.c.kind, owner.c.team_id)
        .join(owner, owner.c.id == keep.c.principal_id)
        .where(keep.c.sha256 == token_hash(token))
    ).one_or_none()
    if row is None or row.revoked is not None or (row.expires is not None and row.expires <= now):
        return None
    return Principal(row.principal_id, Role(row.kind), row.team_id, row.run_id)


def revoke(connection: Connection, head: str, now: int) -> int:
    """End every token whose id, or whose principal, this is; says how many.

    Raises:
        NotFoundError: there is none.
    """
    table = tables.token
    live = table.c.revoked.is_(None)
    chosen = (table.c.principal_id == head) | (func.substr(table.c.sha256, 1, _SHOWN) == head)
    changed = connection.execute(update(table).where(live & chosen).values(revoked=now)).rowcount
    if not changed:
        raise NotFoundError("tokens.not_found", token=head)
    return changed


def revoke_of_run(connection: Connection, run_id: str, now: int) -> None:
    """End what tokens a run had of its own."""
    table = tables.token
    connection.execute(
        update(table).where((table.c.run_id == run_id) & table.c.revoked.is_(None)).values(revoked=now)
    )


def any_issued(connection: Connection) -> bool:
    """Whether some person's token is in force: then nobody is let in without one."""
    keep, owner = tables.token, tables.principal
    people = owner.c.kind.in_((Role.ADMIN.value, Role.USER.value))
    query = select(keep.c.sha256).join(owner, owner.c.id == keep.c.principal_id)
    return connection.execute(query.where(keep.c.revoked.is_(None) & people).limit(1)).first() is not None


def list_tokens(connection: Connection) -> list[TokenRow]:
    """Every token that is not a run's own, newest first."""
    keep, owner = tables.token, tables.principal
    rows = connection.execute(
        select(keep, owner.c.kind, owner.c.team_id)
        .join(owner, owner.c.id == keep.c.principal_id)
        .where(keep.c.run_id.is_(None))
        .order_by(keep.c.created.desc())
    )
    return [
        TokenRow(
            str(row.sha256)[:_SHOWN],
            row.principal_id,
            Role(row.kind),
            row.team_id,
            row.created,
            cast("int | None", row.expires),
            cast("int | None", row.revoked),
        )
        for row in rows
    ]
