"""A training step traced on fake tensors: nothing is allocated and no GPU is needed."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise

from torch import Tensor, nn

from headway.memory.blocks import blocks_of
from headway.memory.optimizers import InHostMemory, MakeOptimizer
from headway.memory.recipe import Recipe
from headway.memory.step import Step
from headway.profile.engine import in_backward
from headway.profile.fakes import OneFakeMode, ValuesAreOne
from headway.profile.optimizers import optimizer_maker, states_of
from headway.profile.rules import device_rules
from headway.profile.sharding import pretended_workers
from headway.profile.step import Phases
from headway.profile.step_types import Category, Place, Rules
from headway.profile.storage_log import StorageLog
from headway.profile.unpacked import samples_unpacked

Build = Callable[[], nn.Module]
MakeBatch = Callable[[int, int], Mapping[str, Tensor]]


@dataclass(frozen=True, slots=True)
class Traced:
    """The log of a second step, what each block kept in it, and constant bytes by category beside it.

    `parameters` and `trained` count weights, of the whole model; `begins` is the step's first movement.
    """

    log: StorageLog
    block_bytes: tuple[int, ...]
    extra: Mapping[Category, int]
    parameters: int
    trained: int
    idle: tuple[str, ...]
    begins: int


def trace(
    build: Build,
    batch: MakeBatch,
    *,
    recipe: Recipe,
    micro_batch: int,
    seq_len: int,
    optimizer: str | MakeOptimizer,
    world_size: int = 1,
    workers_in_node: int | None = None,
    rules: Rules = "cpu",
) -> Traced:
    """Trace two steps (states exist after the first) and keep the second.

    Args:
        build: makes the model, in training mode; called under fake tensors.
        batch: makes a batch of (samples, sequence length).
        recipe: its techniques are applied; its own micro-batch is not used.
        micro_batch: samples at once.
        seq_len: tokens in a sample.
        optimizer: a name, or what makes one from parameters.
        world_size: workers.
        workers_in_node: for `hsdp`.
        rules: of the device that is planned for.
    """
    sharded = recipe.sharding in {"fsdp", "hsdp"}
    # DDP cannot run on fake tensors: its buckets are added as a constant.
    sharding = recipe.sharding if sharded else "none"
    ours = replace(recipe, sharding=sharding, gradients="plain", micro_batch=micro_batch)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings(
            "ignore", "Accessing the data pointer of FakeTensor"
        )  # by a module's deep copy
        stack.enter_context(pretended_workers(world_size) if sharded else nullcontext())
        stack.enter_context(device_rules(rules))
        fake = stack.enter_context(OneFakeMode(allow_non_fake_inputs=True))
        stack.enter_context(ValuesAreOne())
        model = build()
        stack.enter_context(samples_unpacked())
        counts = _counts(model)
        made = optimizer_maker(optimizer, rules)
        step = Step(model, made, ours, workers_in_node=workers_in_node)
        parts = min(recipe.accumulation, 2)
        inputs = batch(micro_batch * parts, seq_len)
        log = StorageLog(fake, rules)
        marks, begins = _second_step(step, inputs, log)
        more = sum(value.nbytes for value in inputs.values()) * (recipe.accumulation - parts) // parts
        extra: dict[Category, int] = {"inputs": more, **_exchange(recipe, log, world_size)}
        return Traced(log, marks, extra, *counts, idle=step.applied.idle, begins=begins)


def _counts(model: nn.Module) -> tuple[int, int]:
    every = list(model.parameters())
    return sum(p.numel() for p in every), sum(p.numel() for p in every if p.requires_grad)


def _second_step(step: Step, inputs: Mapping[str, Tensor], log: StorageLog) -> tuple[tuple[int, ...], int]:
    """What each block kept, and where in the log the step begins."""
    model = step.model
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def on_place(place: Place) -> None:
        if place == "optimizer":
            log.hold((parameter.grad for parameter in trained), "gradients")
        log.place = place

    with Phases(step) as phases:
        phases.run(inputs)
        gc.collect()
        log.place = "forward_start"
        log.hold([*model.parameters(), *model.buffers()], "parameters")
        if not (isinstance(step.optimizer, InHostMemory) and log.rules == "cuda"):
            log.hold(states_of(step.optimizer), "optimizer")
        log.hold(inputs.values(), "inputs")
        phases.on_place = on_place
        begins = len(log.moves)
        collecting = gc.isenabled()
        gc.disable()
        try:
            with block_marks(model, log) as marks, _gradient_marks(trained, log), log:
                phases.run(inputs)
        finally:
            if collecting:
                gc.enable()
    return tuple(later - earlier for earlier, later in pairwise(marks)), begins


def _exchange(recipe: Recipe, log: StorageLog, world_size: int) -> dict[Category, int]:
    """Buckets of DDP: a copy of the gradients, in 16 bits once more while a compressed one is exchanged."""
    if recipe.sharding not in {"ddp", "zero1"}:
        return {}
    gradients = sum(block.bytes for block in log.blocks if block.category == "gradients")
    states = sum(block.bytes for block in log.blocks if block.category == "optimizer")
    found: dict[Category, int] = {"communication": gradients}
    if recipe.gradients == "powersgd":
        found["communication"] += gradients  # the error that is fed back
    if recipe.sharding == "zero1":
        found["optimizer"] = states // world_size - states
    return found


@contextmanager
def _gradient_marks(trained: list[nn.Parameter], log: StorageLog) -> Generator[None]:
    """Gradients that do not live to the end of the backward pass are marked when they are complete."""

    def complete(done: Tensor) -> None:
        log.hold([done.grad], "gradients")

    handles = [
        parameter.register_post_accumulate_grad_hook(complete)
        for parameter in trained
        if type(parameter) is nn.Parameter
    ]
    yield
    for handle in handles:
        handle.remove()


@contextmanager
def block_marks(model: nn.Module, log: StorageLog) -> Generator[list[int]]:
    """Live bytes at the start of each block and after the last one, of the first forward pass."""
    marks: list[int] = []
    blocks = [block for _name, block in blocks_of(model)]

    def note(*_arguments: object) -> None:
        if len(marks) <= len(blocks) and not in_backward():
            marks.append(log.live_bytes)

    handles = [block.register_forward_pre_hook(note) for block in blocks]
    if blocks:
        handles.append(blocks[-1].register_forward_hook(note, prepend=True))
    yield marks
    for handle in handles:
        handle.remove()
