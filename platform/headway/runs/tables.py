"""The ledger's tables (ADR-0001).

Time is integer UTC microseconds, money integer nano-units with an ISO currency, unit prices decimal text.
Every row carries `org_id`. Only `event`, `usage`, `price*` and `cost_line` are sources; the other tables
are projected from events in the same transaction, leases excepted.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()
_I64 = BigInteger().with_variant(Integer, "sqlite")


def _org() -> Column[str]:
    return Column("org_id", String(64), nullable=False, server_default=text("'default'"))


def _id(name: str = "id", length: int = 80) -> Column[str]:
    return Column(name, String(length), primary_key=True)


def _ref(name: str, *, nullable: bool = True, key: str | None = None) -> Column[str]:
    return Column(name, String(80), nullable=nullable, key=key or name)


def _time(name: str, *, nullable: bool = True, key: str | None = None) -> Column[int]:
    return Column(name, _I64, nullable=nullable, key=key or name)


team = Table("team", metadata, _id(), Column("name", Text, nullable=False), _org())
project = Table(
    "project",
    metadata,
    _id(),
    _ref("team_id"),
    Column("reporting_currency", String(3), nullable=False),
    _org(),
)
site = Table(
    "site",
    metadata,
    _id(),
    Column("kind", Text, nullable=False),
    Column("region", Text),
    Column("location", Text),
    _org(),
)
pool = Table(
    "pool",
    metadata,
    _id(),
    _ref("site_id", nullable=False),
    Column("instance", Text, nullable=False),
    Column("capacity", Text, nullable=False),
    Column("currency", String(3), nullable=False),
    _org(),
)
run = Table(
    "run",
    metadata,
    _id(),
    Column("name", Text, nullable=False),
    _ref("team_id"),
    _ref("project_id"),
    _ref("owner_id"),
    Column("labels", Text, nullable=False),
    Column("spec_json", Text, nullable=False),
    Column("spec_sha", String(64), nullable=False),
    Column("code_sha", String(64)),
    Column("state", String(16), nullable=False),
    Column("reason", Text),
    Column("failure_class", String(16)),
    Column("version", Integer, nullable=False),
    Column("request_key", String(256), nullable=False),
    _ref("parent_run_id"),
    Column("limits", Text, nullable=False),
    _time("created", nullable=False),
    _time("ended"),
    _time("hidden"),
    _org(),
    UniqueConstraint("org_id", "request_key"),
    Index("run_by_creation", "created"),
    Index("run_by_state", "state"),
)
principal = Table(
    "principal",
    metadata,
    _id(),
    Column("kind", String(16), nullable=False),
    _ref("team_id"),
    _org(),
)
token = Table(
    "token",
    metadata,
    _id("sha256", 64),
    _ref("principal_id", nullable=False),
    _ref("run_id"),
    _time("created", nullable=False),
    _time("expires"),
    _time("revoked"),
    _org(),
    Index("token_of_principal", "principal_id"),
)
attempt = Table(
    "attempt",
    metadata,
    _id("run_id"),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("state", String(16), nullable=False),
    Column("failure_class", String(16)),
    Column("lease_epoch", _I64, nullable=False),
    Column("lease_holder", Text, nullable=False),
    _time("lease_expires_at", nullable=False),
    Column("backend", Text, nullable=False),
    Column("backend_ref", Text),
    Column("backend_uid", Text),
    _ref("plan_id"),
    _time("started", nullable=False),
    _time("ended"),
    Column("exit_code", Integer),
    _org(),
)
event = Table(
    "event",
    metadata,
    _id("source", 120),
    Column("epoch", _I64, primary_key=True, autoincrement=False),
    Column("seq", _I64, primary_key=True, autoincrement=False),
    _ref("run_id"),
    Column("attempt", Integer),
    Column("kind", String(40), nullable=False),
    _time("occurred_at", nullable=False),
    _time("recorded_at", nullable=False),
    Column("body", Text, nullable=False),
    _org(),
    Index("event_of_run", "run_id", "kind"),
    Index("event_by_recording", "recorded_at"),
)
allocation = Table(
    "allocation",
    metadata,
    _id(),
    _ref("run_id"),
    Column("attempt", Integer),
    _ref("pool_id", nullable=False),
    Column("node", Text, nullable=False),
    Column("zone_id", Text),
    Column("gpu_uuid", Text),
    Column("share_num", Integer, nullable=False),
    Column("share_den", Integer, nullable=False),
    _time("from", nullable=False, key="start"),
    _time("to", key="stop"),
    _org(),
    Index("allocation_of_run", "run_id", "attempt"),
)
world = Table(
    "world",
    metadata,
    _id("run_id"),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("from", _I64, primary_key=True, autoincrement=False, key="start"),
    Column("workers", Integer, nullable=False),
    _org(),
)
phase = Table(
    "phase",
    metadata,
    _id("run_id"),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("from", _I64, primary_key=True, autoincrement=False, key="start"),
    Column("kind", String(16), primary_key=True),
    _time("to", key="stop"),
    _org(),
)
progress = Table(
    "progress",
    metadata,
    _id("run_id"),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("at", _I64, primary_key=True, autoincrement=False),
    Column("step", _I64, primary_key=True, autoincrement=False),
    Column("samples", _I64),
    Column("tokens", _I64),
    Column("loss", Text),
    _org(),
)
checkpoint = Table(
    "checkpoint",
    metadata,
    _id("run_id"),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("step", _I64, primary_key=True, autoincrement=False),
    Column("uri", Text, nullable=False),
    Column("manifest_sha", String(64), nullable=False),
    _time("committed_at", nullable=False),
    Column("state", String(16), nullable=False),
    _org(),
)
usage = Table(
    "usage",
    metadata,
    _id("source", 120),
    Column("epoch", _I64, primary_key=True, autoincrement=False),
    Column("seq", _I64, primary_key=True, autoincrement=False),
    _ref("allocation_id", nullable=False),
    _time("from", nullable=False, key="start"),
    _time("to", nullable=False, key="stop"),
    Column("metric", String(32), nullable=False),
    Column("quantity_int", _I64, nullable=False),
    Column("unit", String(32), nullable=False),
    Column("method", String(32), nullable=False),
    Column("quality", String(32), nullable=False),
    _org(),
    Index("usage_of_allocation", "allocation_id"),
)
price_snapshot = Table(
    "price_snapshot",
    metadata,
    _id("sha256", 64),
    Column("source", Text, nullable=False),
    Column("licence", Text, nullable=False),
    _time("fetched_at", nullable=False),
    _org(),
)
price = Table(
    "price",
    metadata,
    _id("id", 64),
    Column("snapshot_sha", String(64), nullable=False),
    Column("offering_key", Text, nullable=False),
    Column("unit", String(32), nullable=False),
    Column("price_text", Text, nullable=False),
    Column("currency", String(3), nullable=False),
    _time("effective_from", nullable=False),
    _time("effective_to"),
    Column("sku", Text, nullable=False),
    _org(),
)
cost_line = Table(
    "cost_line",
    metadata,
    _id("id", 64),
    Column("stage", String(16), nullable=False),
    _ref("run_id"),
    Column("attempt", Integer),
    _ref("allocation_id"),
    _ref("pool_id"),
    _ref("team_id"),
    Column("category", String(32), nullable=False),
    Column("scope", String(16), nullable=False),
    Column("waste", String(16), nullable=False),
    _time("from", nullable=False, key="start"),
    _time("to", nullable=False, key="stop"),
    Column("quantity_text", Text, nullable=False),
    Column("unit", String(32), nullable=False),
    Column("price_id", String(64), nullable=False),
    Column("amount_nano", _I64, nullable=False),
    Column("currency", String(3), nullable=False),
    Column("method", String(32), nullable=False),
    Column("supersedes_id", String(64)),
    _org(),
    Index("cost_line_of_run", "run_id"),
)
log = Table(
    "log",
    metadata,
    _id("run_id"),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("stream", String(40), primary_key=True),
    Column("uri", Text, nullable=False),
    Column("bytes", _I64, nullable=False),
    Column("sha", String(64)),
    _org(),
)

PROJECTED = (team, project, site, pool, run, attempt, allocation, world, phase, progress, checkpoint, log)
