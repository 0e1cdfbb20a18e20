"""`python -m headway.profile.batch_child RESULT`: the micro-batch of a worker, from traces alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.profile.answering import answer
from headway.profile.child import resolve
from headway.profile.deep import profile_deep_peak
from headway.profile.parts import balanced
from headway.profile.peak import profile_peak
from headway.profile.traced_types import request_of
from headway.profile.whole import source_of_request


def chosen(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fewest parts of a worker's share whose peak fits; `micro_batch` 0: not even one sample does."""
    request, capacity = request_of(asked["trace"]), int(asked["capacity_bytes"])
    source = source_of_request(request, resolve(request))

    def peak(samples: int) -> int:
        how: dict[str, Any] = {
            "recipe": request.recipe,
            "micro_batch": samples,
            "seq_len": request.seq_len,
            "optimizer": request.optimizer,
            "world_size": request.world_size,
            "workers_in_node": request.workers_in_node,
            "rules": request.rules,
        }
        if source.depth is not None:
            found = profile_deep_peak(
                source.build, source.batch, layers=source.depth, check=False, reserved=True, **how
            )
        else:
            found = profile_peak(lambda: source.build(None), source.batch, **how)
        return found.total_bytes

    found = balanced(peak, int(asked["share"]), capacity)
    return {
        "micro_batch": found.micro_batch,
        "predicted_bytes": found.predicted_bytes,
        "fixed_bytes": found.fixed_bytes,
        "one_sample_bytes": found.one_sample_bytes,
    }


if __name__ == "__main__":
    answer(chosen)
