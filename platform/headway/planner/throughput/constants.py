"""PURE. The few constants of the physics: what each means, and what is believed of it before any row is seen.

A constant's logarithm has a normal prior around `typical` with the standard deviation `spread`; measured rows
move it from there only as far as they must. Sources of the priors stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed of a constant: its typical value and the spread of its logarithm."""

    typical: float
    spread: float


@dataclass(frozen=True, slots=True)
class Constants:
    """The fitted constants, all positive.

    - `matmul_share`: share of peak that large matrices reach on the reference device;
    - `matmul_lag`: exponent by which that share falls as devices get faster (power, clocks);
    - `fp8_share`: the 8-bit share over the 16-bit one (casts, scaling);
    - `attention_share`, `attention_lag`: the same two for fused attention, whose kernels lag behind;
    - `width_bytes`: bytes moved for each unit of width, token and layer, both passes, at nominal rate;
    - `eager_cost`: that traffic's factor where elementwise work is not fused and has dropout;
    - `tile_tokens`: tokens at which a micro-step's matrices lose half of their rate (tiles, waves);
    - `block_seconds`: launching one block's kernels, where the device waits for them;
    - `step_seconds`: the fixed part of a step;
    - `link_share`: share of a link's nominal rate that collectives reach;
    - `exposed_share`: the part of exchange that never overlaps;
    - `hop_seconds`: one hop of a ring between machines;
    - `expert_cost`: extra time of small grouped matrices and uneven experts, over the dense ones.
    """

    matmul_share: float
    matmul_lag: float
    fp8_share: float
    attention_share: float
    attention_lag: float
    width_bytes: float
    eager_cost: float
    tile_tokens: float
    block_seconds: float
    step_seconds: float
    link_share: float
    exposed_share: float
    hop_seconds: float
    expert_cost: float


PRIORS: dict[str, Prior] = {
    # Large bf16 matrices: 75 to 85 % of the A100's peak, 65 to 75 % of the H100's.
    "matmul_share": Prior(0.80, 0.08),
    "matmul_lag": Prior(0.12, 0.50),
    "fp8_share": Prior(0.75, 0.20),
    # First and second generation kernels: a third to a half of the A100's peak, less of the H100's.
    "attention_share": Prior(0.40, 0.35),
    "attention_lag": Prior(0.45, 0.40),
    # 34 bytes a unit saved for backward (Korthikanti 2205.05198), each written and read two or three times.
    "width_bytes": Prior(160.0, 0.40),
    "eager_cost": Prior(1.6, 0.30),
    "tile_tokens": Prior(150.0, 0.80),
    "block_seconds": Prior(50e-6, 0.80),
    "step_seconds": Prior(5e-3, 0.80),
    "link_share": Prior(0.75, 0.20),
    "exposed_share": Prior(0.35, 0.50),
    "hop_seconds": Prior(8e-6, 0.70),
    "expert_cost": Prior(1.0, 0.60),
}
NAMES: tuple[str, ...] = tuple(field.name for field in fields(Constants))


def typical() -> Constants:
    """The constants before any row is seen."""
    return Constants(**{name: PRIORS[name].typical for name in NAMES})


def from_mapping(values: Mapping[str, float]) -> Constants:
    """Constants read from a file.

    Raises:
        KeyError: a constant is missing.
    """
    return Constants(**{name: float(values[name]) for name in NAMES})
