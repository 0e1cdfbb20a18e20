"""Figures of the profile, measured when called; `run.py` prints and stores them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import peak_cases
import tempo
import titan

from headway.memory.recipe import Recipe, uniform
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of
from headway.profile.deep import profile_deep_peak
from headway.profile.models import batch_maker, model_builder
from headway.profile.peak import largest_micro_batch, profile_peak
from headway.profile.traced import profile_for
from headway.profile.traced_types import TraceRequest

GIB = 2**30
EXPANDABLE = (("expandable_segments", "True"),)


def peak_errors_percent() -> dict[str, float]:
    """Per configuration, how far the predicted peak is from the real CPU allocator's."""
    found = {}
    for case in peak_cases.cases():
        real = peak_cases.measured(case)
        found[case.name] = 100 * abs(peak_cases.predicted(case) - real) / real
    return found


def peak_error_percent_max() -> float:
    return max(peak_errors_percent().values())


def tempo_batches() -> dict[tuple[str, bool], tuple[int, int]]:
    """By precision and whether Tempo's ops are used: the published and the predicted largest batch."""
    found = {}
    for (precision, uses), published in tempo.PUBLISHED.items():
        ours = largest_micro_batch(
            lambda precision=precision, uses=uses: tempo.build(precision, tempo=uses),
            tempo.batch,
            recipe=Recipe(sharding="ddp"),
            seq_len=tempo.SEQ_LEN,
            optimizer="adamw" if precision == "fp32" else tempo.MasterAdam,
            capacity_bytes=tempo.CAPACITY_BYTES,
            world_size=4,
            rules="cuda",
        )
        found[precision, uses] = (published, ours.micro_batch)
    return found


def tempo_batch_error_max() -> int:
    return max(abs(ours - published) for published, ours in tempo_batches().values())


def reserved_percent() -> dict[int, float]:
    """By number of GPUs, predicted over published reserved bytes, less one, in percent."""
    found = {}
    for workers, published in titan.PUBLISHED_GIB.items():
        peak = profile_peak(
            titan.Llama,
            titan.batch,
            recipe=titan.RECIPE,
            micro_batch=titan.MICRO_BATCH,
            seq_len=titan.SEQ_LEN,
            optimizer="adamw",
            world_size=workers,
            rules="cuda",
        )
        assert peak.reserved_bytes is not None
        found[workers] = 100 * (peak.reserved_bytes / GIB / published - 1)
    return found


def reserved_error_percent() -> float:
    """Of the 8-GPU row."""
    return abs(reserved_percent()[8])


def _request_70b() -> TraceRequest:
    recipe = Recipe(sharding="fsdp", precision="bf16", recompute=uniform("nothing"), allocator=EXPANDABLE)
    return TraceRequest(recipe, model="llama-3.1-70b", micro_batch=1, seq_len=8192, world_size=64)


def profile_70b_seconds() -> float:
    """A whole profile, in a process of its own that starts and imports its libraries."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        profile_for(_request_70b(), folder=Path(home), home=Path(home))
        return time.perf_counter() - start


def stored_profile_ms() -> float:
    """The same profile asked for again."""
    with tempfile.TemporaryDirectory() as home:
        profile_for(_request_70b(), folder=Path(home), home=Path(home))
        start = time.perf_counter()
        profile_for(_request_70b(), folder=Path(home), home=Path(home))
        return 1000 * (time.perf_counter() - start)


def extrapolation_error_percent_max() -> float:
    """Two shallow traces against the whole model's, where that is feasible: allocated bytes."""
    worst = 0.0
    recipes = (Recipe(), Recipe(precision="bf16"), Recipe(sharding="fsdp", precision="bf16"))
    for name, vocab, layers in (("bert-large", 30522, 24), ("gpt2", 50257, 12), ("llama-3.1-8b", 128256, 32)):
        for recipe in recipes:
            how = {
                "recipe": recipe,
                "micro_batch": 2,
                "seq_len": 512,
                "optimizer": "adamw",
                "world_size": 8,
                "rules": "cpu",
            }
            batch = batch_maker(vocab)
            short = profile_deep_peak(
                lambda count, name=name: model_builder(name, layers=count)(), batch, layers=layers, **how
            )
            whole = profile_peak(model_builder(name), batch, **how)
            worst = max(worst, 100 * abs(short.peak_bytes - whole.peak_bytes) / whole.peak_bytes)
    return worst


def closed_form_plan_ms() -> float:
    """A configuration's needs by closed form, the mean of many."""
    shape_of("llama-3.1-70b", {})
    start = time.perf_counter()
    for _number in range(100):
        profile_of(shape_of("llama-3.1-70b", {}))
    return 10 * (time.perf_counter() - start)


def asking_imports_no_torch() -> bool:
    code = "import sys, headway.profile.traced; sys.exit('torch' in sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


if __name__ == "__main__":
    for figure in (
        closed_form_plan_ms,
        profile_70b_seconds,
        stored_profile_ms,
        tempo_batches,
        reserved_percent,
        extrapolation_error_percent_max,
        peak_error_percent_max,
    ):
        print(figure.__name__, figure(), flush=True)
