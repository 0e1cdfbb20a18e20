"""The first ledger.

Later versions write out what they change; this one creates the tables as `headway.runs.tables` has them,
frozen by the golden schema test.
"""

from alembic import op

from headway.runs.tables import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table of the first ledger."""
    metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop them again."""
    metadata.drop_all(op.get_bind())
