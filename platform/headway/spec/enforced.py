"""Which keys of a job spec have an effect in this version; the others are reported, never ignored."""

from collections.abc import Iterator
from typing import Final

from headway.spec.job import JobSpec
from headway.spec.parts import Part
from headway.spec.problems import dotted

# A path covers all below it. Work that gives a key its effect adds the key here.
ENFORCED: Final = frozenset(
    {
        "version",
        "name",
        "team",
        "project",
        "owner",
        "labels",
        "entrypoint",
        "workload.method",
        "needs.workers",
        "needs.cpus_per_worker",
        "needs.memory_per_worker",
        "limits.budget",
        "workload.model",
        "workload.optimizer",
        "workload.micro_batch",
        "memory",
        "workload.samples",
        "workload.tokens",
        "workload.steps",
        "workload.seq_len",
        "workload.global_batch",
        "goal",
        "env",
        "secrets",
        "storage",
        "retries",
    }
)

# What has its effect only where the run goes to a cluster.
IN_CLUSTERS: Final = frozenset(
    {
        "needs.gpus",
        "image",
        "queue",
        "priority",
        "data.sensitivity",
        "limits.sites",
        "limits.regions",
    }
)


def not_enforced(spec: JobSpec, *, in_cluster: bool = False) -> tuple[str, ...]:
    """The dotted paths that the user has set and that have no effect yet, in the order of the spec."""
    enforced = ENFORCED | IN_CLUSTERS if in_cluster else ENFORCED
    return tuple(
        path
        for path in _set_paths(spec, ())
        if not _covered(path, enforced) and not _without_gpus(spec, path)
    )


def _covered(path: str, enforced: frozenset[str]) -> bool:
    parts = path.split(".")
    return any(".".join(parts[:length]) in enforced for length in range(1, len(parts) + 1))


def _without_gpus(spec: JobSpec, path: str) -> bool:
    # Asking for no GPU has its whole effect.
    return path == "needs.gpus" and spec.needs.gpus.max == 0


def _set_paths(part: Part, above: tuple[str, ...]) -> Iterator[str]:
    for name, described in type(part).model_fields.items():
        if name not in part.model_fields_set:
            continue
        here = (*above, described.alias or name)
        value = getattr(part, name)
        if isinstance(value, Part) and value.model_fields_set:
            yield from _set_paths(value, here)
        else:
            yield dotted(here)
