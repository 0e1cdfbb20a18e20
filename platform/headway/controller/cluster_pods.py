"""Pods as allocations: each is its share of its node, from the moment it was placed until it ended."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, func, select

from headway.backends.kubernetes.observed import Observation, SeenNode, SeenPod
from headway.controller.cluster_pools import ClusterPool, Pools
from headway.controller.settle import keep_snapshot
from headway.costing.sharing import Amounts, gpu_anchored
from headway.costing.usage import Metric
from headway.runs import tables
from headway.runs.events import EventKind
from headway.runs.pool_prices import keep_price
from headway.runs.projection import insert_new
from headway.runs.rows import AttemptRow
from headway.runs.store import Recorder, append_events
from headway.settings import Settings

METER_MICROSECONDS = 30_000_000
_GIB = 2**30
_FINEST = 1_000_000  # denominator of a share


class PodMeter:
    """Opens, meters and closes the allocations of attempts."""

    def __init__(self, settings: Settings, recorder: Recorder, cpu_overcommit: float) -> None:
        self._settings, self._recorder = settings, recorder
        self._overcommit = Fraction(str(cpu_overcommit))
        self._seen: set[str] = set()

    def look(
        self,
        connection: Connection,
        attempt: AttemptRow,
        seen: Observation,
        nodes: Mapping[str, SeenNode],
        pools: Pools,
    ) -> None:
        """Bring an open attempt's allocations up to a look at its pods, in the caller's transaction."""
        mine = allocation_id
        ids = tables.allocation.c.id
        known = set(
            connection.execute(select(ids).where(ids.in_([mine(pod) for pod in seen.pods]))).scalars()
        )
        for pod in sorted(seen.pods, key=lambda one: one.placed or 0):
            if pod.placed is not None and pod.node is not None and mine(pod) not in known:
                self._open(connection, attempt, pod, nodes, pools)
        pods = {mine(pod): pod for pod in seen.pods}
        for row in self._rows(connection, attempt):
            pod = pods.get(row.id)
            if pod is not None and not pod.has_ended:
                self._seen.add(row.id)
                self._meter(connection, row, seen.at, at_least=METER_MICROSECONDS)
            else:
                self._shut(connection, attempt, row, seen.at, None if pod is None else pod.ended)

    def close(self, connection: Connection, attempt: AttemptRow, at: int) -> None:
        """Close what an ending attempt still has open."""
        for row in self._rows(connection, attempt):
            self._shut(connection, attempt, row, at, None)

    def _rows(self, connection: Connection, attempt: AttemptRow) -> list[Any]:
        table = tables.allocation
        query = select(table).where((table.c.run_id == attempt.run_id) & (table.c.attempt == attempt.n))
        return list(connection.execute(query.where(table.c.stop.is_(None)).order_by(table.c.start)).all())

    def _open(
        self,
        connection: Connection,
        attempt: AttemptRow,
        pod: SeenPod,
        nodes: Mapping[str, SeenNode],
        pools: Pools,
    ) -> None:
        node = nodes.get(pod.node or "")
        pool = None if node is None else pools.by_label().get(node.pool)
        assert pod.placed is not None
        if node is None or pool is None:
            self._note_unpriced(connection, attempt, pod)
            return
        share = self._share(connection, pod, node, pool)
        keep_snapshot(self._settings, pool.snapshot)
        keep_price(connection, pool.snapshot, pool.price(pod.placed))
        body: dict[str, object] = {
            "id": allocation_id(pod),
            "site": pool.site_row,
            "pool": pool.pool_row,
            "node": node.name,
            "zone_id": node.zone_id,
            "share_num": share.numerator,
            "share_den": share.denominator,
        }
        opened = self._recorder.event(
            EventKind.ALLOCATION_OPENED, body, attempt.run_id, attempt.n, pod.placed
        )
        append_events(connection, [opened])

    def _note_unpriced(self, connection: Connection, attempt: AttemptRow, pod: SeenPod) -> None:
        """A pod on a node of no pool is on record, once: its cost is unknown, and no zero."""
        if pod.uid in self._seen:
            return
        self._seen.add(pod.uid)
        body: dict[str, object] = {"what": "unpriced", "pod": pod.name, "node": pod.node}
        append_events(connection, [self._recorder.event(EventKind.NOTE, body, attempt.run_id, attempt.n)])

    def _share(self, connection: Connection, pod: SeenPod, node: SeenNode, pool: ClusterPool) -> Fraction:
        """The pod's part of its node; together the pods of a node never pay for more than all of it."""
        has = Amounts(Fraction(node.gpus), Fraction(node.millicores, 1000), Fraction(node.memory_bytes, _GIB))
        takes = Amounts(
            Fraction(pod.gpus),
            Fraction(pod.millicores, 1000) * self._overcommit,
            Fraction(pod.memory_bytes, _GIB),
        )
        price = Fraction(pool.price(pod.placed or 0).price_text)
        share = gpu_anchored(has, price, {pod.uid: takes})[pod.uid] if price else Fraction(1)
        table = tables.allocation
        others = connection.execute(
            select(table.c.share_num, table.c.share_den).where(
                (table.c.node == node.name) & (table.c.pool_id == pool.id) & table.c.stop.is_(None)
            )
        ).all()
        free = 1 - sum((Fraction(row.share_num, row.share_den) for row in others), Fraction(0))
        return max(Fraction(0), min(share, free)).limit_denominator(_FINEST)

    def _metered_until(self, connection: Connection, row: Any) -> int:  # noqa: ANN401 - a row
        found = connection.execute(
            select(func.max(tables.usage.c.stop)).where(tables.usage.c.allocation_id == row.id)
        ).scalar()
        return int(found or row.start)

    def _meter(self, connection: Connection, row: Any, until: int, *, at_least: int) -> None:  # noqa: ANN401
        since = self._metered_until(connection, row)
        if until <= since or until - since < at_least:
            return
        usage = {
            "source": self._recorder.source,
            "epoch": self._recorder.epoch,
            "seq": self._recorder.next_seq(),
            "allocation_id": row.id,
            "start": since,
            "stop": until,
            "metric": Metric.NODE_HELD.value,
            # Of the whole time so far, less what is recorded: parts that are rounded down would add up.
            "quantity_int": _part(row, until) - _part(row, since),
            "unit": Metric.NODE_HELD.unit,
            "method": "allocation",
            "quality": "measured",
        }
        insert_new(connection, tables.usage, usage)

    def _shut(
        self,
        connection: Connection,
        attempt: AttemptRow,
        row: Any,  # noqa: ANN401
        at: int,
        ended: int | None,
    ) -> None:
        stop = ended
        if stop is None and row.id in self._seen:
            stop = at  # it went between this look and the one before
        if stop is None:
            stop = self._last_sign(connection, attempt, row)
        stop = max(row.start, min(stop, at))
        self._meter(connection, row, stop, at_least=0)
        closed = self._recorder.event(
            EventKind.ALLOCATION_CLOSED, {"id": row.id}, attempt.run_id, attempt.n, stop
        )
        append_events(connection, [closed])
        self._seen.discard(row.id)

    def _last_sign(self, connection: Connection, attempt: AttemptRow, row: Any) -> int:  # noqa: ANN401
        """Of a pod that went while no controller looked: the last that was heard of its attempt."""
        table = tables.event
        heard = connection.execute(
            select(func.max(table.c.occurred_at)).where(
                (table.c.run_id == attempt.run_id)
                & (table.c.attempt == attempt.n)
                & (table.c.source != self._recorder.source)
            )
        ).scalar()
        return max(self._metered_until(connection, row), int(heard or 0))


def allocation_id(pod: SeenPod) -> str:
    """The id of a pod's allocation: one pod, one allocation, whoever looks."""
    return f"pod-{pod.uid}"


def _part(row: Any, until: int) -> int:  # noqa: ANN401
    return (until - row.start) * row.share_num // row.share_den
