"""Bring a ledger to the newest schema; several processes may try at once, one does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

if TYPE_CHECKING:
    from headway.runs.store import Ledger


def upgrade(ledger: Ledger) -> None:
    """Run the migrations that this ledger lacks, all in one transaction."""
    script = ScriptDirectory(str(Path(__file__).parent))

    def steps(revision: tuple[str, ...] | str, _context: MigrationContext) -> object:
        return script._upgrade_revs("head", revision)  # pyright: ignore[reportPrivateUsage, reportArgumentType] # noqa: SLF001 - Alembic has no public name for it outside its env.py

    with ledger.write() as connection:
        _run(connection, steps)


def _run(connection: Connection, steps: object) -> None:
    context = MigrationContext.configure(
        connection, opts={"fn": steps, "transactional_ddl": True, "transaction_per_migration": False}
    )
    with Operations.context(context):
        context.run_migrations()
