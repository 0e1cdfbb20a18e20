"""The gradient gate: a recipe's gradients against the plain model's, before anything paid starts.

On a processor, on a small slice, with the same dropout masks in both. For each parameter the difference must
stay below tol·max(‖g‖, 1e-3·‖all g‖/√tensors) (a plain relative test fails on gradients that are zero in
theory, such as those of an attention's key bias), and the error against float64 below twice the plain
model's own. It compares arithmetic, not kernels: CUDA kernels are not exercised here.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from headway.errors import UserError
from headway.memory.applied import Applied, apply_recipe, calls_of
from headway.memory.identity import differences
from headway.memory.injection import with_shared_masks
from headway.memory.recipe import Recipe
from headway.memory.registry import lossy_in, techniques_of
from headway.memory.step import LossOf, Step, split
from headway.memory.swap import Swapped
from headway.memory.techniques import lean_attention

TOLERANCE = 1e-5
FLOOR = 1e-3
ERROR_RATIO = 2.0
LEARNING_RATE = 0.125
ERROR_FLOOR = 1e-6  # of the same scale: where the plain model is exact by luck, twice nothing is nothing
SCOPE = (
    "compared on a processor, in one process: the recipe's arithmetic, not CUDA kernels, shards or exchange"
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One parameter: difference and errors against float64 are norms relative to the scale of the rule."""

    name: str
    difference: float
    error: float
    plain_error: float


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate found; `problems` empty is a pass. `lossy` are the declared lossy techniques.

    `notes` say what a technique could not do for this model; `changed` how many modules each changed.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    compared: tuple[Compared, ...]
    lossy: tuple[str, ...]
    changed: tuple[tuple[str, int], ...]
    scope: str = SCOPE

    @property
    def passed(self) -> bool:
        """Whether the recipe may run."""
        return not self.problems

    @property
    def worst(self) -> Compared | None:
        """The parameter with the largest difference."""
        return max(self.compared, key=lambda item: item.difference, default=None)


Change = Callable[[nn.Module, Recipe], Applied]


def model_loss(model: nn.Module, part: Any) -> Tensor:  # noqa: ANN401 - a batch of any kind
    """The loss of a model of transformers, or of one that gives its loss."""
    result = (
        model(**part) if isinstance(part, dict) else model(*part) if isinstance(part, tuple) else model(part)
    )
    loss = result if isinstance(result, Tensor) else getattr(result, "loss", None)
    if loss is None and isinstance(result, Mapping):
        loss = cast("Mapping[str, object]", result).get("loss")
    if not isinstance(loss, Tensor):
        raise UserError("gate.no_loss", kind=type(result).__name__)
    return loss


def check(
    model: nn.Module,
    batch: Any,  # noqa: ANN401 - the user's own type
    recipe: Recipe,
    *,
    loss_of: LossOf = model_loss,
    exact: bool = True,
    seed: int = 0,
    change: Change = apply_recipe,
) -> GateReport:
    """Compare a recipe with the plain model; neither the model nor the global generator's state is changed.

    Args:
        model: the plain model on a processor, small enough to run three times.
        batch: a few samples; `recipe.micro_batch` of them at once.
        recipe: sharding is not exercised here: see `headway.memory.gate_workers`.
        loss_of: the loss of a part of the batch, a mean over its samples.
        exact: whether undeclared loss of precision is refused.
        seed: of the masks.
        change: what applies the recipe; tests pass faulty ones.
    """
    state = torch.get_rng_state()
    try:
        return _check(model, batch, recipe, loss_of, exact=exact, seed=seed, change=change)
    finally:
        torch.set_rng_state(state)


def _check(
    model: nn.Module,
    batch: Any,  # noqa: ANN401
    recipe: Recipe,
    loss_of: LossOf,
    *,
    exact: bool,
    seed: int,
    change: Change,
) -> GateReport:
    lossy = tuple(name for name in lossy_in(recipe) if name != "mixed_precision")
    problems = [f"{name} changes results; memory.exact forbids it" for name in lossy if exact]
    plain = copy.deepcopy(model).train()
    candidate = copy.deepcopy(model).train()
    captured = _capture(candidate)
    applied, step = _step(candidate, recipe, change)
    problems += differences(plain, candidate)
    problems += _unreported(applied, recipe)
    notes = [f"{name} found nothing to change in this model" for name in applied.idle]
    kind = _precision(model, recipe)
    truth, why = _truth(model, batch, recipe, loss_of, seed)
    notes += [why] if why else []
    reference, plain_loss = plain_gradients(plain, batch, recipe, loss_of, seed, precision=recipe.precision)
    before = {name: value.detach().clone() for name, value in candidate.named_parameters()}
    try:
        loss = with_shared_masks(seed, lambda: step.backward(batch, loss_of))
    except RuntimeError as error:
        problems.append(f"the changed model fails: {str(error).splitlines()[0]}")
        return GateReport(tuple(problems), tuple(notes), (), lossy, ())
    problems += _not_done(applied)
    notes += _unused(applied)
    problems += _loss_problem(plain_loss, loss, kind)
    problems += _buffer_problems(plain, candidate)
    compared = compare(truth or reference, reference, captured)
    problems += _gradient_problems(reference, captured, compared, kind, lossy, known=truth is not None)
    problems += _update_problems(before, candidate, step, captured)
    problems += _evaluation_problems(plain, candidate, batch, loss_of, before)
    return GateReport(
        tuple(problems),
        tuple(notes),
        compared,
        lossy,
        tuple((item.technique, len(item.changed)) for item in applied.changes),
    )


def _capture(model: nn.Module) -> dict[str, Tensor]:
    """Gradients by name as they are completed, also where an optimizer in the backward pass frees them."""
    found: dict[str, Tensor] = {}

    def keeper(name: str) -> Callable[[Tensor], None]:
        def keep(parameter: Tensor) -> None:
            if parameter.grad is not None:
                found[name] = parameter.grad.detach().clone()

        return keep

    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(keeper(name))
    return found


def _step(candidate: nn.Module, recipe: Recipe, change: Change) -> tuple[Applied, Step]:
    applied = change(candidate, recipe)
    alone = replace(recipe, sharding="none", gradients="plain")
    step = Step(
        candidate, lambda parameters: torch.optim.SGD(parameters, lr=LEARNING_RATE), alone, applied=applied
    )
    return applied, step


def plain_gradients(
    model: nn.Module,
    batch: Any,  # noqa: ANN401
    recipe: Recipe,
    loss_of: LossOf,
    seed: int,
    *,
    precision: str = "fp32",
) -> tuple[dict[str, Tensor], float]:
    """The plain model on the same parts, one graph after the other; fp64 models keep fp64."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    wide = next(model.parameters()).dtype == torch.float64

    def work() -> float:
        total = 0.0
        parts = list(split(_as(batch, torch.float64) if wide else batch, recipe.micro_batch))
        whole = sum(size for size, _part in parts)
        for size, part in parts:
            with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
                loss = loss_of(model, part) * (size / whole)
            loss.backward()
            total += float(loss.detach())
        return total

    loss = with_shared_masks(seed, work)
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return found, loss


def _as(batch: Any, dtype: torch.dtype) -> Any:  # noqa: ANN401 - the user's own type
    """Floating tensors of a batch in another type."""
    if isinstance(batch, Tensor):
        return batch.to(dtype) if batch.is_floating_point() else batch
    if isinstance(batch, dict):
        return {key: _as(value, dtype) for key, value in batch.items()}
    if isinstance(batch, tuple | list):
        return type(batch)(_as(value, dtype) for value in batch)
    return batch


def compare(
    truth: dict[str, Tensor], reference: dict[str, Tensor], found: dict[str, Tensor]
) -> tuple[Compared, ...]:
    """Each parameter's difference and errors, relative to the rule's scale."""
    everything = math.sqrt(sum(float(g.double().pow(2).sum()) for g in reference.values()))
    least = FLOOR * everything / math.sqrt(max(1, len(reference)))
    compared: list[Compared] = []
    for name, grad in reference.items():
        if name not in found or found[name].shape != grad.shape:
            continue
        plain, mine, true = grad.double(), found[name].double(), truth[name].double()
        scale = max(float(plain.norm()), least) or 1.0
        compared.append(
            Compared(
                name,
                float((mine - plain).norm()) / scale,
                float((mine - true).norm()) / scale,
                float((plain - true).norm()) / scale,
            )
        )
    return tuple(compared)


def _gradient_problems(
    reference: dict[str, Tensor],
    found: dict[str, Tensor],
    compared: tuple[Compared, ...],
    kind: str,
    lossy: tuple[str, ...],
    *,
    known: bool,
) -> list[str]:
    problems = [f"{name} gets no gradient" for name in reference if name not in found]
    problems += [
        f"{name} gets a gradient; the plain model gives it none" for name in found.keys() - reference
    ]
    if lossy:
        return problems
    for item in compared:
        if not math.isfinite(item.difference):
            problems.append(f"{item.name}: its gradient is not finite")
        # A gradient that rounding alone decides (zero in exact arithmetic) is known to nobody more closely.
        elif kind == "fp32" and item.difference > (allowed := max(TOLERANCE, 2 * item.plain_error)):
            problems.append(f"{item.name}: gradient differs by {item.difference:.1e}, {allowed:.0e} allowed")
        elif known and item.error > ERROR_RATIO * item.plain_error + _error_floor(kind):
            problems.append(
                f"{item.name}: error against float64 {item.error:.1e}, plain {item.plain_error:.1e}"
            )
    return problems


def _error_floor(kind: str) -> float:
    """Rounding of the precision in use, below which errors are luck."""
    return {"bf16": 2e-3, "fp16": 2.5e-4}.get(kind, ERROR_FLOOR)


def _unreported(applied: Applied, recipe: Recipe) -> list[str]:
    """Techniques that work on modules and of which the report says nothing."""
    told = {change.technique for change in applied.changes}
    wanted = [item.name for item in techniques_of(recipe) if item.kind in {"layers", "recompute"}]
    return [f"{name} is in the recipe and was not applied" for name in wanted if name not in told]


def _not_done(applied: Applied) -> list[str]:
    """Modules that a technique says it has changed and that are what they were."""
    modules = dict(applied.model.named_modules())
    swapping = {item.technique for item in applied.changes} - {lean_attention.NAME}
    return [
        f"{change.technique} was reported for {name} and was not applied"
        for change in applied.changes
        for name in change.changed
        if change.technique in swapping and name in modules and not isinstance(modules[name], Swapped)
    ]


def _unused(applied: Applied) -> list[str]:
    """Techniques none of whose changed modules has worked in its changed way: nothing is saved by them."""
    calls = calls_of(applied.model)
    unused: list[str] = []
    for change in applied.changes:
        known = [calls[name] for name in change.changed if name in calls]
        if known and not any(known):
            unused.append(f"{change.technique} was applied but never took effect: it saves nothing here")
    return unused


def _precision(model: nn.Module, recipe: Recipe) -> str:
    """What both models compute in: the recipe's precision, or that of the model's own weights."""
    own = {torch.bfloat16: "bf16", torch.float16: "fp16"}
    found = {own[p.dtype] for p in model.parameters() if p.dtype in own}
    return recipe.precision if recipe.precision != "fp32" or not found else min(found)


def _truth(
    model: nn.Module,
    batch: Any,  # noqa: ANN401
    recipe: Recipe,
    loss_of: LossOf,
    seed: int,
) -> tuple[dict[str, Tensor] | None, str]:
    """Gradients in float64, or None and why: a model may insist on a type of its own."""
    try:
        return plain_gradients(copy.deepcopy(model).double().train(), batch, recipe, loss_of, seed)[0], ""
    except RuntimeError as error:
        return (
            None,
            f"not compared with float64: the model does not run in it: {str(error).splitlines()[0]}",
        )


def _buffer_problems(plain: nn.Module, candidate: nn.Module) -> list[str]:
    """Buffers that the same forward passes have left in another state: a block ran more often, or not."""
    after = dict(candidate.named_buffers())
    return [
        f"{name}: the buffer is not what the plain model's is after a step"
        for name, buffer in plain.named_buffers()
        if name in after and not torch.allclose(buffer.double(), after[name].double(), rtol=1e-4, atol=1e-6)
    ]


def _loss_problem(plain: float, found: Tensor, kind: str) -> list[str]:
    allowed = {"fp32": TOLERANCE, "bf16": 2e-2, "fp16": 3e-3}[kind]
    if abs(float(found) - plain) <= allowed * max(1.0, abs(plain)):
        return []
    return [f"the loss is {float(found):.6g}, the plain model's {plain:.6g}"]


def _update_problems(
    before: dict[str, Tensor], candidate: nn.Module, step: Step, found: dict[str, Tensor]
) -> list[str]:
    """After the step every parameter must have moved by its gradient."""
    step.optimizer.step()
    step.optimizer.zero_grad(set_to_none=True)
    problems: list[str] = []
    for name, parameter in candidate.named_parameters():
        start, now = before[name], parameter.detach()
        wanted = start - LEARNING_RATE * found[name] if name in found else start
        if not torch.allclose(now, wanted, rtol=1e-5, atol=1e-6):
            problems.append(f"{name}: the optimizer's step is not the plain one")
    return problems


def _evaluation_problems(
    plain: nn.Module,
    candidate: nn.Module,
    batch: Any,  # noqa: ANN401
    loss_of: LossOf,
    before: dict[str, Tensor],
) -> list[str]:
    """In evaluation, from the same weights, both give the same loss twice."""
    with torch.no_grad():
        for name, parameter in candidate.named_parameters():
            parameter.copy_(before[name])
        plain.eval()
        candidate.eval()
        wanted, first = float(loss_of(plain, batch)), float(loss_of(candidate, batch))
        if float(loss_of(plain, batch)) != wanted:
            return []  # the plain model itself draws random numbers in evaluation
        second = float(loss_of(candidate, batch))
    if first != second:
        return ["in evaluation the loss differs from call to call"]
    if abs(first - wanted) > TOLERANCE * max(1.0, abs(wanted)):
        return [f"in evaluation the loss is {first:.6g}, the plain model's {wanted:.6g}"]
    return []
