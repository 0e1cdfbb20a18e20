"""What one block keeps from forward to backward, by technique, as a function of micro-batch and length."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise

import torch

from headway.errors import UserError
from headway.memory.recipe import Recipe
from headway.memory.step import Step
from headway.profile.fakes import OneFakeMode, ValuesAreOne
from headway.profile.optimizers import optimizer_maker
from headway.profile.polynomial import Point, SavedBytes, fit
from headway.profile.rules import device_rules
from headway.profile.step import loss_of
from headway.profile.step_types import Rules
from headway.profile.storage_log import StorageLog
from headway.profile.trace import Build, MakeBatch, block_marks
from headway.profile.unpacked import samples_unpacked

_STEP = 32
_LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}


@contextmanager
def default_type(dtype: torch.dtype | None) -> Generator[None]:
    """Within it modules are made of a type: as FSDP's policy casts parameters, and so all that follows."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype or before)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def block_bytes(
    build: Build, batch: MakeBatch, *, recipe: Recipe, micro_batch: int, seq_len: int, rules: Rules
) -> tuple[int, ...]:
    """Bytes that each block keeps in one forward pass on fake tensors, its output included; one device.

    Unlike hooks on saved tensors this sees what selective recompute keeps.
    """
    low = _LOW.get(recipe.precision) if recipe.sharding in {"fsdp", "hsdp"} else None
    ours = replace(recipe, sharding="none", gradients="plain", optimizer="plain", micro_batch=micro_batch)
    if low is not None:
        ours = replace(ours, precision="fp32")
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings(
            "ignore", "Accessing the data pointer of FakeTensor"
        )  # by a module's deep copy
        stack.enter_context(device_rules(rules))
        fake = stack.enter_context(OneFakeMode(allow_non_fake_inputs=True))
        stack.enter_context(ValuesAreOne())
        with default_type(low):
            model = build()
        stack.enter_context(samples_unpacked())
        step = Step(model, optimizer_maker("sgd", rules), ours)
        inputs = batch(micro_batch, seq_len)
        log = StorageLog(fake, rules)
        log.hold([*step.model.parameters(), *step.model.buffers()], "parameters")
        log.hold(inputs.values(), "inputs")
        with block_marks(step.model, log) as marks, log, step.autocast():
            loss = loss_of(step.model(**inputs))
        del loss
        return tuple(later - earlier for earlier, later in pairwise(marks))


def saved_per_block(
    build: Build, batch: MakeBatch, *, recipe: Recipe, rules: Rules, longest: int = 512
) -> SavedBytes:
    """The second block's bytes as a function, from six passes and checked on two more.

    Args:
        build: makes the model, of two blocks at least (two are enough).
        batch: as of `trace`.
        recipe: whose techniques are applied.
        rules: of the device.
        longest: tokens that the model can take; four lengths up to it are used.

    Raises:
        UserError: the model has no list of like blocks.
    """
    unit = max(1, longest // (4 * _STEP)) * _STEP if longest >= 4 * _STEP else max(1, longest // 4)
    known: list[Point] = [(b, s * unit) for b in (2, 3) for s in (1, 2, 4)]
    others: list[Point] = [(5, 3 * unit), (4, 4 * unit)]

    def one(point: Point) -> int:
        found = block_bytes(build, batch, recipe=recipe, micro_batch=point[0], seq_len=point[1], rules=rules)
        if len(found) < 2:
            raise UserError("profile.no_blocks")
        return found[1]

    return fit({point: one(point) for point in known}, {point: one(point) for point in others})
