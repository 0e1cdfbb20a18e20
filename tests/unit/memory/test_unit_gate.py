"""The gate passes every exact recipe and refuses every planted fault."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import memory_models as models
import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from headway.errors import UserError
from headway.memory.applied import Applied, apply_recipe
from headway.memory.gate import check
from headway.memory.recipe import Recipe, Segment, uniform
from headway.memory.registry import LAYERS, LEAN_LAYERS
from headway.memory.swap import swap

LEAN = Recipe(layers=LEAN_LAYERS, micro_batch=4)
RECIPES = {
    "plain": Recipe(micro_batch=4),
    **{f"only {name}": Recipe(layers=(name,), micro_batch=4) for name in LAYERS},
    "all layers": LEAN,
    "bits": replace(LEAN, layers=(*(n for n in LEAN_LAYERS if n != "replayed_dropout"), "packed_dropout")),
    "full recompute": replace(LEAN, recompute=uniform("nothing")),
    "matmul and attention kept": replace(LEAN, recompute=uniform("matmul+attention")),
    "attention kept": Recipe(recompute=uniform("attention"), micro_batch=4),
    "mixed segments": replace(LEAN, recompute=(Segment(1, "nothing"), Segment(1, "all"))),
    "accumulation": replace(LEAN, micro_batch=1, accumulation=4),
    "uneven accumulation": replace(LEAN, micro_batch=3, accumulation=2),
    "autocast": replace(LEAN, precision="bf16"),
    "autocast, recompute, accumulation": replace(
        LEAN, precision="bf16", recompute=uniform("nothing"), micro_batch=2, accumulation=2
    ),
    "optimizer in backward": replace(LEAN, optimizer="in_backward"),
    "offload": replace(LEAN, optimizer="offload", offload_activations=True),
}


@pytest.mark.parametrize("family", models.FAMILIES)
@pytest.mark.parametrize("name", RECIPES)
def test_every_exact_recipe_passes_on_every_family(family: str, name: str) -> None:
    report = check(models.model(family), models.batch(), RECIPES[name])
    assert report.passed, report.problems
    assert report.compared


@pytest.mark.parametrize("family", models.FAMILIES)
def test_layer_techniques_change_something_in_every_family(family: str) -> None:
    changed = dict(check(models.model(family), models.batch(), LEAN).changed)
    assert changed["fused_activation"] >= 2
    assert changed["norm_from_output"] >= 4
    assert changed["fused_loss"] == 1


class Redrawn:
    """A block recomputed without its random numbers."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return checkpoint(super().forward, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)


class ScaleForgotten:
    p: float
    training: bool

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.empty_like(x).bernoulli_(1 - self.p) if self.training else x


class AlwaysOn:
    p: float

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.p, training=True)


class DetachedInput:
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.detach()) + (x - x.detach())


class TanhGelu:
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.gelu(x, approximate="tanh")


def _modules(model: nn.Module, kind: str) -> list[tuple[str, nn.Module]]:
    return [(name, module) for name, module in model.named_modules() if type(module).__name__ == kind]


def _parent(model: nn.Module, name: str) -> nn.Module:
    return model.get_submodule(name.rpartition(".")[0])


def _redrawn(model: nn.Module) -> None:
    for _name, block in _modules(model, "BertLayer"):
        swap(block, Redrawn)


def _fresh_norms(model: nn.Module) -> None:
    for name, norm in _modules(model, "LayerNorm"):
        setattr(_parent(model, name), name.rpartition(".")[2], nn.LayerNorm(norm.weight.shape[0]))


def _other_eps(model: nn.Module) -> None:
    for _name, norm in _modules(model, "LayerNorm"):
        norm.eps = 1e-3


def _untied(model: nn.Module) -> None:
    decoder: Any = model.cls.predictions.decoder
    decoder.weight = nn.Parameter(decoder.weight.detach().clone())


def _mixed_in(kind: str, mixin: type) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        for _name, module in _modules(model, kind):
            swap(module, mixin)

    return change


def _evaluating(model: nn.Module) -> None:
    model.bert.encoder.layer[0].eval()


def _frozen(model: nn.Module) -> None:
    model.bert.encoder.layer[1].output.dense.weight.requires_grad_(False)


def _renamed(model: nn.Module) -> None:
    layer: Any = model.bert.encoder.layer[0]
    layer.intermediate = nn.Sequential(layer.intermediate)


def _half(model: nn.Module) -> None:
    model.bert.encoder.layer[0].output.LayerNorm.to(torch.bfloat16)


def _other_p(model: nn.Module) -> None:
    for _name, drop in _modules(model, "Dropout"):
        drop.p = 0.2


def _hookless(model: nn.Module) -> None:
    for module in model.modules():
        module._forward_hooks.clear()


def _scaled_gradient(model: nn.Module) -> None:
    model.bert.encoder.layer[0].output.dense.weight.register_hook(lambda grad: grad * 1.001)


FAULTS: dict[str, tuple[Callable[[nn.Module], None], str]] = {
    "recompute that draws other masks": (_redrawn, "gradient differs"),
    "fresh norms: trained weights lost": (_fresh_norms, "other values"),
    "another eps": (_other_eps, "eps"),
    "untied weights": (_untied, "no longer one parameter"),
    "dropout without its scale": (_mixed_in("Dropout", ScaleForgotten), "differs"),
    "dropout that ignores evaluation": (_mixed_in("Dropout", AlwaysOn), "evaluation"),
    "a norm whose gradient bypasses it": (_mixed_in("LayerNorm", DetachedInput), "differs"),
    "another activation": (_mixed_in("GELUActivation", TanhGelu), "differs"),
    "a block left in evaluation mode": (_evaluating, "evaluation mode"),
    "a parameter frozen": (_frozen, "trainable"),
    "a parameter renamed": (_renamed, "state dict"),
    "a parameter in another type": (_half, "bfloat16"),
    "another dropout probability": (_other_p, "drops 0.2"),
    "a hook lost": (_hookless, "hooks"),
    "a gradient off by a thousandth": (_scaled_gradient, "gradient differs"),
}


def _trained(family: str = "bert") -> nn.Module:
    """A model whose norms are not fresh and that has a hook."""
    model = models.model(family)
    generator = torch.Generator().manual_seed(3)
    for parameter in model.parameters():
        parameter.data.add_(torch.randn(parameter.shape, generator=generator) * 0.02)
    model.register_forward_hook(lambda *_: None)
    return model


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refused(fault: str) -> None:
    plant, said = FAULTS[fault]

    def change(model: nn.Module, recipe: Recipe) -> Applied:
        applied = apply_recipe(model, recipe)
        plant(model)
        return applied

    report = check(_trained(), models.batch(), Recipe(micro_batch=4), change=change)
    assert not report.passed
    assert any(said in problem for problem in report.problems), report.problems


def test_the_same_model_without_a_fault_passes() -> None:
    assert check(_trained(), models.batch(), Recipe(micro_batch=4)).passed


def test_a_technique_reported_but_not_applied_is_refused() -> None:
    def change(model: nn.Module, recipe: Recipe) -> Applied:
        changes = apply_recipe(copy.deepcopy(model), recipe).changes  # another object than the one trained
        for name in (name for item in changes for name in item.changed):
            model.get_submodule(name).__dict__["lean_calls"] = 0
        return Applied(model, changes)

    recipe = Recipe(layers=("replayed_dropout",), micro_batch=4)
    report = check(models.model("bert"), models.batch(), recipe, change=change)
    assert any("was not applied" in problem for problem in report.problems)


def test_a_technique_that_is_left_out_is_refused() -> None:
    def change(model: nn.Module, recipe: Recipe) -> Applied:
        return Applied(model, ())

    report = check(models.model("bert"), models.batch(), LEAN, change=change)
    assert any("was not applied" in problem for problem in report.problems)


def test_a_lossy_technique_must_be_declared() -> None:
    recipe = Recipe(sharding="ddp", gradients="bf16", micro_batch=4)
    model, batch = models.model("gpt2"), models.batch()
    assert not check(model, batch, recipe).passed
    declared = check(model, batch, recipe, exact=False)
    assert declared.passed
    assert declared.lossy == ("compressed_gradients",)


def test_the_gate_leaves_model_and_random_numbers_alone() -> None:
    model = models.model("bert")
    before = {key: value.clone() for key, value in model.state_dict().items()}
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    check(model, models.batch(), LEAN)
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert type(model.bert.encoder.layer[0].output.dropout) is nn.Dropout


def test_the_gate_says_that_kernels_are_not_exercised() -> None:
    assert "CUDA kernels" in check(models.model("bert"), models.batch(), Recipe(micro_batch=4)).scope


class Counting(nn.Module):
    """A model with a running buffer, as batch norms and codebooks have."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.act(self.up(x))
        with torch.no_grad():
            self.seen.add_(x.detach().sum())
        return self.down(hidden).pow(2).mean()


def test_a_buffer_that_a_recipe_updates_otherwise_is_refused() -> None:
    model, batch = Counting(), torch.ones(4, 4)
    assert check(model, batch, replace(LEAN, layers=("fused_activation",))).passed

    def change(candidate: nn.Module, recipe: Recipe) -> Applied:
        candidate.register_forward_hook(lambda module, *_: module.seen.add_(1.0) and None)
        return apply_recipe(candidate, recipe)

    report = check(model, batch, replace(LEAN, layers=("fused_activation",)), change=change)
    assert any("seen: the buffer" in problem for problem in report.problems)


class Giving(nn.Module):
    def __init__(self, how: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.inner, self.how = nn.Linear(4, 4), how

    def forward(self, x: Tensor) -> Any:
        return self.how(self.inner(x).pow(2).mean())


@pytest.mark.parametrize("how", [lambda loss: loss, lambda loss: {"loss": loss, "other": 1}])
def test_a_model_may_give_its_loss_or_a_mapping_with_it(how: Callable[[Tensor], Any]) -> None:
    assert check(Giving(how), torch.ones(4, 4), Recipe(micro_batch=4)).passed


@pytest.mark.parametrize("how", [lambda _loss: None, lambda loss: [loss], lambda loss: {"lost": loss}])
def test_a_model_without_a_loss_is_told(how: Callable[[Tensor], Any]) -> None:
    with pytest.raises(UserError, match="neither a loss nor has one"):
        check(Giving(how), torch.ones(4, 4), Recipe(micro_batch=4))


def test_a_model_of_which_nothing_is_trained_is_told() -> None:
    model = Giving(lambda loss: loss).requires_grad_(False)
    with pytest.raises(UserError, match="nothing to train"):
        check(model, torch.ones(4, 4), Recipe(micro_batch=4))


class Shared(nn.Module):
    """Modules used three times; the mean square of a norm's output hardly has a slope."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.act, self.linear, self.last = (
            nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 16), nn.LayerNorm(16),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = x + self.linear(self.act(self.norm(x)))
        return self.last(x).pow(2).mean()


def test_gradients_of_rounding_alone_are_compared_with_what_the_plain_model_knows() -> None:
    torch.manual_seed(0)
    model, batch = Shared(), torch.randn(4, 16)
    assert check(model, batch, LEAN).passed

    def change(candidate: nn.Module, recipe: Recipe) -> Applied:
        applied = apply_recipe(candidate, recipe)
        swap(candidate.linear, DetachedInput)
        return applied

    assert not check(model, batch, LEAN, change=change).passed
