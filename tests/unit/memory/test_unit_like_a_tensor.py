"""What a program does to a technique's output gives what it would give without it, or fails loudly."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor, nn

from headway.memory.applied import apply_recipe, calls_of
from headway.memory.optimizers import InBackward, InHostMemory
from headway.memory.recipe import Recipe
from headway.memory.registry import LEAN_LAYERS
from headway.memory.step import Step

Use = Callable[[Any], Any]


def _set(t: Any) -> Any:
    t[0] = 0.5
    return t


def _hooked(t: Any) -> Any:
    t.register_hook(lambda grad: grad * 3)
    return t * 1


def _added(t: Any) -> Any:
    t += 1
    return t


USES: dict[str, Use] = {
    "in place by operator": _added,
    "in place by method": lambda t: t.mul_(2),
    "in place, then a view": lambda t: t.add_(1).reshape(-1, t.shape[-1]),
    "in place through a view": lambda t: (t.reshape(-1).mul_(2), t)[1] * 1,
    "an item set": _set,
    "a hook on the gradient": _hooked,
    "compared": lambda t: t * (t == t.max()),
    "masked": lambda t: t.masked_fill(t < 0.1, 0.0),
    "power": lambda t: t**2,
    "right power": lambda t: 2**t,
    "floor and rest": lambda t: t % 0.3,
    "absolute": abs,
    "iterated": lambda t: sum(row for row in t),
    "matrix product": lambda t: torch.ones(t.shape[-1], t.shape[-1]) @ t.reshape(-1, t.shape[-1]).t(),
    "split": lambda t: torch.cat([part * n for n, part in enumerate(t.chunk(2, -1))], -1),
    "read and returned": lambda t: (t.sum().item(), t)[1] * 1,
    "detached": lambda t: t + t.detach(),
    "used twice": lambda t: t * t,
    "two Linears": lambda t: (
        F.linear(t, torch.ones(3, t.shape[-1])) + F.linear(t, torch.ones(3, t.shape[-1]))
    ),
    "to a list": lambda t: t * float(t.tolist()[0][0][0]),
}


class Activated(nn.Module):
    def __init__(self, use: Use) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6)
        self.use = use

    def forward(self, x: Tensor) -> Tensor:
        used = self.use(self.act(self.up(x)))
        return self.down(used) if used.shape[-1] == 8 else used


class Spoken(nn.Module):
    def __init__(self, use: Use) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 5), nn.Linear(5, 30)
        self.use = use

    def forward(self, x: Tensor) -> Tensor:
        used = self.use(self.head(self.body(x)))
        if used.shape[-1] != 30:
            return used
        words = used.reshape(-1, 30)
        return F.cross_entropy(words, torch.arange(len(words)) % 30)


def _results(model: nn.Module) -> list[Tensor]:
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(1)).requires_grad_()
    result = model(x)
    result = result.value() if hasattr(result, "value") else result
    loss = result.pow(2).mean()
    return [
        loss.detach(),
        *torch.autograd.grad(loss, [x, *model.parameters()], allow_unused=True, materialize_grads=True),
    ]


@pytest.mark.parametrize("kind", [Activated, Spoken])
@pytest.mark.parametrize("use", USES)
def test_any_use_of_an_output_gives_the_plain_result(kind: type[nn.Module], use: str) -> None:
    torch.manual_seed(0)
    plain = kind(USES[use])
    lean = copy.deepcopy(plain)
    apply_recipe(lean, Recipe(layers=("fused_activation", "fused_loss")))
    for mine, theirs in zip(_results(lean), _results(plain), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-5, atol=1e-6)


class OwnNorm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * 2


class OwnDropout(nn.Dropout):
    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5


class OwnGelu(nn.GELU):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + x


@pytest.mark.parametrize("make", [lambda: OwnNorm(6), OwnDropout, OwnGelu, lambda: nn.ReLU(inplace=True)])
def test_a_subclass_that_computes_something_else_is_left_alone(make: Callable[[], nn.Module]) -> None:
    model = nn.Sequential(nn.Linear(6, 6), make(), nn.Linear(6, 6))
    plain = copy.deepcopy(model)
    apply_recipe(model, Recipe(layers=LEAN_LAYERS))
    assert type(model[1]) is type(plain[1])
    for mine, theirs in zip(_results(model), _results(plain), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("hook", ["register_forward_hook", "register_full_backward_hook"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_hook_sees_and_changes_what_it_would_without_the_technique(hook: str, place: int) -> None:
    plain = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6))
    lean = copy.deepcopy(plain)
    apply_recipe(lean, Recipe(layers=("fused_activation",)))

    def seen(model: nn.Module) -> list[Tensor]:
        found: list[Tensor] = []

        def look(_module: nn.Module, inputs: Any, outputs: Any) -> None:
            found.extend(
                t.detach() for t in (*inputs, *(outputs if isinstance(outputs, tuple) else (outputs,)))
            )

        handle = getattr(model[place], hook)(look)
        results = _results(model)
        handle.remove()
        return [*found, *results]

    for mine, theirs in zip(seen(lean), seen(plain), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("ratio", [0.5, 2.0, 50.0, 1e4])
def test_a_norm_whose_beta_dwarfs_its_gamma_keeps_its_input(dtype: torch.dtype, ratio: float) -> None:
    plain = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 64)).to(dtype)
    with torch.no_grad():
        plain[1].weight.fill_(0.5)
        plain[1].bias.fill_(0.5 * ratio)
    lean = copy.deepcopy(plain)
    apply_recipe(lean, Recipe(layers=("norm_from_output",)))
    exact = copy.deepcopy(plain).double()
    x = torch.randn(32, 64, generator=torch.Generator().manual_seed(2))

    def gradient(model: nn.Module) -> Tensor:
        inputs = x.to(model[0].weight.dtype)
        model(inputs).pow(2).sum().backward()
        return model[0].weight.grad.double()

    truth = gradient(exact)
    mine, theirs = ((gradient(model) - truth).norm() / truth.norm() for model in (lean, plain))
    assert mine <= 2 * theirs
    kept = sum(calls_of(lean).values()) == 0
    assert kept == (ratio >= (50.0 if dtype == torch.bfloat16 else 1e4))


@pytest.mark.parametrize("way", ["in_backward", "offload"])
def test_weights_loaded_between_steps_are_the_ones_trained(way: str) -> None:
    """An optimizer with copies of the parameters does not put the old ones back."""
    torch.manual_seed(3)
    other = nn.Linear(4, 4).state_dict()
    found: list[Tensor] = []
    for recipe in (Recipe(micro_batch=2), Recipe(micro_batch=2, optimizer=way)):
        torch.manual_seed(0)
        step = Step(nn.Linear(4, 4), lambda p: torch.optim.SGD(p, lr=0.1), recipe)
        step(torch.ones(2, 4), lambda model, part: model(part).pow(2).mean())
        step.model.load_state_dict(other)
        step(torch.ones(2, 4), lambda model, part: model(part).pow(2).mean())
        found.append(step.model.weight.detach().clone())
    assert torch.allclose(found[0], found[1], rtol=1e-6)


SCHEDULERS = {
    "lambda": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda n: 1 / (1 + n)),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=6),
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=9),
    "chained": lambda o: torch.optim.lr_scheduler.SequentialLR(
        o,
        [torch.optim.lr_scheduler.LinearLR(o, 0.1, 1.0, 2), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)],
        [2],
    ),
}


@pytest.mark.filterwarnings("ignore:Detected call of:UserWarning")
@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("kind", [InBackward, InHostMemory])
def test_a_scheduler_drives_a_lean_optimizer_also_after_a_restore(kind: Any, name: str) -> None:
    def train(make: Callable[[nn.Module], Any]) -> Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = make(model)
        scheduler = SCHEDULERS[name](optimizer)
        for n in range(4):
            model(torch.ones(3, 4)).pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad(True)
            scheduler.step()
            if n == 1:
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        assert all(optimizer.state[group["params"][0]] for group in optimizer.param_groups)
        return torch.cat([p.detach().reshape(-1) for p in model.parameters()])

    def adam(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=0.05)

    assert torch.allclose(
        train(lambda model: kind(model.parameters(), adam)), train(lambda model: adam(model.parameters()))
    )
