"""PURE. Seconds of one step: a load at the rates that the constants say.

A micro-step is matrices, attention, elementwise traffic and launches one after the other, and what of the
exchange nothing hides. Nothing here makes a step faster when there is more to do or less to do it with.
"""

from __future__ import annotations

from headway.planner.throughput.constants import Constants
from headway.planner.throughput.loads import Load

_MOST_SHARE = 0.95
_BACKWARD_SHARE = 2 / 3


def device_seconds(load: Load, constants: Constants) -> float:
    """What one device computes and moves in a micro-step."""
    share = min(_MOST_SHARE, constants.matmul_share * load.generation**-constants.matmul_lag)
    low = constants.fp8_share if load.low_precision else 1.0
    uneven = 1.0 + load.expert_share * constants.expert_cost
    tiles = 1.0 + constants.tile_tokens / max(1.0, load.tokens)
    matrices = (load.matmul_seconds / low * uneven + load.head_seconds) * tiles / share
    core = min(_MOST_SHARE, constants.attention_share * load.generation**-constants.attention_lag)
    eager = constants.eager_cost if load.eager else 1.0
    traffic = load.width_seconds * constants.width_bytes * eager + load.traffic_seconds + load.weight_seconds
    return matrices + load.attention_seconds / core + traffic + load.blocks * constants.block_seconds


def step_seconds(load: Load, constants: Constants) -> float:
    """One optimizer step."""
    busy = device_seconds(load, constants)
    exposed = min(1.0, constants.exposed_share)
    micro = busy + load.block_exchange_seconds / constants.link_share
    gathered = load.gathered_seconds / constants.link_share + load.gathered_hops * constants.hop_seconds
    micro += exposed * gathered + max(0.0, (1.0 - exposed) * gathered - busy)
    reduced = load.reduced_seconds / constants.link_share + load.reduced_hops * constants.hop_seconds
    # What hides one exchange does not hide another: hybrid shards have both.
    free = _BACKWARD_SHARE * max(0.0, busy - (1.0 - exposed) * gathered)
    left = exposed * reduced + max(0.0, (1.0 - exposed) * reduced - free)
    return micro * (load.micro_steps + load.waits) + left + load.update_seconds + constants.step_seconds


def tokens_per_second_per_device(load: Load, constants: Constants) -> float:
    """Tokens that each device trains on in a second."""
    return load.tokens_per_step / load.devices / step_seconds(load, constants)
