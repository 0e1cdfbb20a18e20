"""What the gateway keeps: hidden runs, principals and the hashes of their tokens.

A ledger made by this version has them already, since the first migration creates the tables of today.
"""

import sqlalchemy
from alembic import op

from headway.runs.tables import principal, token

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NEW = (
    ("run", sqlalchemy.Column("hidden", sqlalchemy.BigInteger().with_variant(sqlalchemy.Integer, "sqlite"))),
    ("attempt", sqlalchemy.Column("exit_code", sqlalchemy.Integer)),
)


def upgrade() -> None:
    """Add what is missing."""
    bind = op.get_bind()
    for table, column in _NEW:
        known = {str(one["name"]) for one in sqlalchemy.inspect(bind).get_columns(table)}
        if column.name not in known:
            op.add_column(table, sqlalchemy.Column(column.name, column.type))
    for table in (principal, token):
        table.create(bind, checkfirst=True)


def downgrade() -> None:
    """Drop it again."""
    for table in (token, principal):
        table.drop(op.get_bind())
    for table, column in _NEW:
        op.drop_column(table, column.name)
