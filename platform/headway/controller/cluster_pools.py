"""The pools of a cluster: which nodes, what a node is and costs, and which of them a job may use."""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal

from headway.backends.kubernetes.shape import Need, NodeShape, Shape, shape_of
from headway.catalog.refreshed import current
from headway.catalog.types import Snapshot
from headway.controller.figures import figures_of
from headway.controller.offerings import offerings_of
from headway.controller.planning import limits_of
from headway.controller.pricing import Market, bytes_of, market_of, sites_of
from headway.costing.prices import Price
from headway.errors import CapacityError, ConfigError, UserError
from headway.messages import text
from headway.planner.search import forbidden
from headway.planner.types import Offering
from headway.runs.pool_prices import UNIT
from headway.settings import Settings
from headway.spec.cluster import ClusterSpec
from headway.spec.files import LoadedSites
from headway.spec.job import JobSpec
from headway.spec.sites import OwnedSite

_NINE_DIGITS = Decimal("0.000000001")
# EFA devices of an instance with several (AWS's list of EFA-capable instances); any other with EFA has one.
_EFA_DEVICES = {
    "p4d.24xlarge": 4, "p4de.24xlarge": 4, "p5.48xlarge": 32, "p5e.48xlarge": 32, "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClusterPool:
    """One pool: `label` is its nodes' value of the pool label; its id in the ledger is the offering's key."""

    label: str
    offering: Offering
    node: NodeShape
    kind: str
    location: str | None
    snapshot: Snapshot

    @property
    def id(self) -> str:
        """The pool's id in the ledger."""
        return self.offering.key

    @property
    def site_row(self) -> dict[str, object]:
        """Its site as the ledger keeps it."""
        one = self.offering
        return {"id": one.site, "kind": self.kind, "region": one.region, "location": self.location}

    @property
    def pool_row(self) -> dict[str, object]:
        """Itself as the ledger keeps it."""
        one = self.offering
        return {"id": one.key, "instance": one.instance, "capacity": one.capacity, "currency": one.currency}

    def price(self, since: int) -> Price:
        """What a node-hour costs, from a time on.

        Raises:
            UserError: nobody knows.
        """
        one = self.offering
        if one.price_per_hour is None:
            raise UserError("kubernetes.no_price", pool=one.key)
        return Price(
            snapshot_sha=self.snapshot.sha256,
            offering_key=one.key,
            unit=UNIT,
            price_text=f"{one.price_per_hour.quantize(_NINE_DIGITS).normalize():f}",
            currency=one.currency,
            effective_from=since,
            effective_to=None,
            sku="; ".join(part for part in (one.price_basis, one.price_source) if part),
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where a job may go: pools of one shape, the cheapest first."""

    shape: Shape
    pools: tuple[ClusterPool, ...]


class Pools:
    """The cluster file's pools, with the prices of now; made anew for each look."""

    def __init__(self, settings: Settings, cluster: ClusterSpec) -> None:
        self._loaded = sites_of(settings)
        self._market = market_of(settings)
        self._rented = bytes_of(current(settings.home))
        now = time.time_ns() // 1000
        found = offerings_of(self._loaded, figures_of(settings), now, self._market)
        known = {one.key: one for one in found}
        self._pools = tuple(
            self._pool(label, site, name, known) for label, site, name in _named(cluster, self._loaded)
        )

    def _pool(self, label: str, site: str, name: str, known: dict[str, Offering]) -> ClusterPool:
        offering = known.get(f"{site}/{name}")
        of_site = next((one for one in self._loaded.spec.sites if one.name == site), None)
        if offering is None or of_site is None:
            raise ConfigError("kubernetes.no_pool", pool=name, site=site)
        if isinstance(of_site, OwnedSite):
            server = of_site.server
            memory = None if server.memory is None else int(server.memory)
            node = NodeShape(server.cores, server.gpus, memory)
            return ClusterPool(label, offering, node, "owned", of_site.location, _bytes_of_file(self._loaded))
        return ClusterPool(label, offering, _rented_node(self._market, offering), "aws", None, self._rented)

    def by_label(self) -> dict[str, ClusterPool]:
        """Every pool by its nodes' label."""
        return {pool.label: pool for pool in self._pools}

    def for_job(self, spec: JobSpec) -> Chosen:
        """The pools that the job may use, the cheapest first, as far as their nodes take pods of one shape.

        Raises:
            CapacityError: none, and why not each.
        """
        names = [site.name for site in self._loaded.spec.sites]
        gpus = spec.needs.gpus.min
        limits = limits_of(spec, names)
        need = Need(
            spec.workers,
            spec.needs.cpus_per_worker,
            -(-gpus // spec.workers),
            None if spec.needs.memory_per_worker is None else int(spec.needs.memory_per_worker),
        )
        fit: list[tuple[Decimal, ClusterPool, Shape]] = []
        why: list[str] = []
        for pool in self._pools:
            rule = forbidden(pool.offering, limits)
            shape = shape_of(need, pool.node)
            price = pool.offering.price_per_hour
            if rule is not None:
                why.append(f"{pool.id}: {text(rule[0], **rule[1])}")
            elif shape is None:
                wide = {"cores": need.cpus_per_worker, "gpus": need.gpus_per_worker, "pool": pool.id}
                why.append(text("kubernetes.too_wide", **wide))
            elif price is None:
                why.append(text("kubernetes.no_price", pool=pool.id))
            else:
                fit.append((price * shape.pods, pool, shape))
        if not fit:
            raise CapacityError("kubernetes.no_pools", why="; ".join(why) or "-")
        fit.sort(key=lambda one: (one[0], one[1].id))
        best = fit[0][2]
        return Chosen(best, tuple(pool for _price, pool, shape in fit if shape == best))


def _named(cluster: ClusterSpec, loaded: LoadedSites) -> list[tuple[str, str, str]]:
    if cluster.pools:
        return [(pool.name, pool.site, pool.pool) for pool in cluster.pools]
    return [(pool.name, site.name, pool.name) for site in loaded.spec.sites for pool in site.pools]


def _rented_node(market: Market, offering: Offering) -> NodeShape:
    kind = market.machines[("aws", offering.instance)]
    gpus = int(kind.accelerator_count) if kind.accelerator else 0
    efa = _EFA_DEVICES.get(kind.name, 1) if kind.efa else 0
    return NodeShape(kind.vcpus, gpus, kind.memory_bytes, efa)


def _bytes_of_file(loaded: LoadedSites) -> Snapshot:
    stated_at = loaded.path.stat().st_mtime_ns // 1000
    return Snapshot(loaded.path.read_bytes(), f"sites file {loaded.path.name}", "the user's own", stated_at)
