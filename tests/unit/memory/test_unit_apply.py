from __future__ import annotations

import copy
import io
import pickle

import memory_models as models
import pytest
import torch
from torch import nn

from headway.memory import apply
from headway.memory.applied import calls_of
from headway.memory.blocks import blocks_of
from headway.memory.identity import differences
from headway.memory.optimizers import InBackward, InHostMemory
from headway.memory.recipe import Recipe, uniform
from headway.memory.registry import LEAN_LAYERS
from headway.memory.step import Step, split

LEAN = Recipe(layers=LEAN_LAYERS, recompute=uniform("matmul+attention"))


@pytest.mark.parametrize("family", models.FAMILIES)
def test_blocks_are_found(family: str) -> None:
    assert len(blocks_of(models.model(family, layers=3))) == 3


def test_a_list_of_linears_is_not_a_stack_of_blocks() -> None:
    assert blocks_of(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))) == []


@pytest.mark.parametrize("family", models.FAMILIES)
def test_a_changed_model_is_copied_pickled_and_saved_as_before(family: str) -> None:
    plain = models.model(family)
    lean = copy.deepcopy(plain)
    apply(lean, LEAN)
    assert differences(plain, lean) == []
    again = pickle.loads(pickle.dumps(copy.deepcopy(lean)))
    buffer = io.BytesIO()
    torch.save(again.state_dict(), buffer)
    buffer.seek(0)
    plain.load_state_dict(torch.load(buffer))
    batch = models.batch()
    again.train()
    result = again(**batch)
    (result if family == "plain" else result.loss).backward()
    assert sum(calls_of(again).values()) > 5


def test_applying_twice_changes_nothing_more() -> None:
    model = models.model("bert")
    apply(model, LEAN)
    kinds = [type(module) for module in model.modules()]
    second = apply(model, LEAN)
    assert [type(module) for module in model.modules()] == kinds
    assert {change.technique for change in second.changes if change.changed} <= {
        "recompute",
        "lean_attention",
    } | {"offload_activations"}


def test_what_cannot_be_changed_is_told() -> None:
    class OddRMSNorm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

    model = nn.Sequential(nn.Dropout(0.1, inplace=True), OddRMSNorm(), nn.LayerNorm((2, 4)))
    told = {
        name: why
        for change in apply(model, Recipe(layers=LEAN_LAYERS)).changes
        for name, why in change.unchanged
    }
    assert set(told) == {"0", "1", "2"}
    assert not any(name in told for change in apply(model, LEAN).changes for name in change.changed)


def test_hooks_of_a_linear_see_ordinary_tensors() -> None:
    model = models.model("bert")
    apply(model, Recipe(layers=("fused_activation",)))
    seen: list[object] = []
    for _name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            module.register_forward_pre_hook(lambda _m, args: seen.append(type(args[0])))
    model(**models.batch()).loss.backward()
    assert set(seen) == {torch.Tensor}


def test_logits_can_be_read_in_evaluation_and_in_training() -> None:
    plain = models.model("gpt2").eval()
    lean = copy.deepcopy(plain)
    apply(lean, Recipe(layers=("fused_loss",)))
    batch = models.batch()
    wanted = plain(**batch).logits
    found = lean(**batch).logits
    assert torch.allclose(found.value(), wanted, atol=1e-6)
    with torch.no_grad():
        assert torch.equal(found.argmax(-1), wanted.argmax(-1))
        assert torch.equal(lean(**batch).logits, wanted)
    ids = batch["input_ids"][:, :4]
    assert torch.equal(
        lean.generate(ids, max_new_tokens=3, do_sample=False),
        plain.generate(ids, max_new_tokens=3, do_sample=False),
    )


@pytest.mark.parametrize("make", [torch.optim.AdamW, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)])
@pytest.mark.parametrize("way", ["in_backward", "offload"])
def test_lean_optimizers_train_as_the_plain_one_and_resume(make, way: str) -> None:
    losses: dict[str, list[float]] = {}
    for name, recipe in {"plain": Recipe(micro_batch=4), way: Recipe(micro_batch=4, optimizer=way)}.items():
        model = models.model("llama", dropout=0.0)
        step = Step(model, make, recipe)
        found = [float(step(models.batch(), _loss)) for _ in range(3)]
        state = copy.deepcopy((step.model.state_dict(), step.optimizer.state_dict()))
        other = Step(models.model("llama", dropout=0.0), make, recipe)
        other.model.load_state_dict(state[0])
        other.optimizer.load_state_dict(state[1])
        losses[name] = [*found, *(float(other(models.batch(), _loss)) for _ in range(3))]
    assert losses[way] == pytest.approx(losses["plain"], rel=1e-6)
    assert losses["plain"][-1] < losses["plain"][0]


def _loss(model: nn.Module, part: dict[str, torch.Tensor]) -> torch.Tensor:
    return model(**part).loss


def test_an_optimizer_in_the_backward_pass_leaves_no_gradients() -> None:
    model = nn.Linear(3, 3)
    optimizer = InBackward(model.parameters(), torch.optim.AdamW)
    model(torch.ones(1, 3)).sum().backward()
    assert all(p.grad is None for p in model.parameters())
    assert optimizer.param_groups[0]["lr"] == 1e-3
    with pytest.raises(ValueError, match="zip"):
        optimizer.load_state_dict({"in_backward": []})
    optimizer.remove()
    model(torch.ones(1, 3)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_an_optimizer_in_host_memory_skips_what_has_no_gradient() -> None:
    model = nn.Linear(3, 3)
    optimizer = InHostMemory(model.parameters(), torch.optim.AdamW)
    before = model.weight.detach().clone()
    optimizer.step()
    optimizer.zero_grad()
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize("kind", ["tensor", "dict", "tuple"])
def test_a_batch_is_cut_in_parts(kind: str) -> None:
    rows = torch.arange(7)
    batch = {
        "tensor": rows,
        "dict": {"x": rows, "scale": torch.tensor(3), "name": "a"},
        "tuple": (rows, rows),
    }[kind]
    parts = list(split(batch, 3))
    assert [size for size, _part in parts] == [3, 3, 1]
    last = parts[-1][1]
    first = last if kind == "tensor" else last["x"] if kind == "dict" else last[0]
    assert torch.equal(first, rows[6:])
    assert kind != "dict" or (last["scale"], last["name"]) == (3, "a")
