"""Traces on fake tensors: peaks by category, CUDA rules, values that code reads, depth, the largest batch."""

import pytest
import torch
from torch import nn

from headway.errors import UserError
from headway.memory.recipe import Recipe, uniform
from headway.profile.deep import profile_deep_peak
from headway.profile.measured import measured_peak
from headway.profile.models import batch_maker, config_of, model_builder
from headway.profile.peak import largest_micro_batch, profile_peak
from headway.profile.saved import block_bytes, saved_per_block

SMALL = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 256,
    "vocab_size": 512,
    "max_position_embeddings": 256,
}
BATCH = batch_maker(512)
B, S, H = 4, 128, 64


def bert(layers=2, attention="sdpa"):
    return model_builder("bert-base", SMALL, layers=layers, attention=attention)


def peak(build=None, recipe=None, **how):
    usual = {"micro_batch": B, "seq_len": S, "optimizer": "adamw"}
    return profile_peak(build or bert(), BATCH, recipe=recipe or Recipe(), **{**usual, **how})


def test_categories_add_up_and_states_are_eight_bytes_a_weight():
    found = peak()
    weights = sum(p.numel() for p in bert()().parameters())
    held = found.places["optimizer"]
    assert held["gradients"] == 4 * weights
    assert held["optimizer"] == pytest.approx(8 * weights, rel=1e-3)
    assert sum(found.by_category.values()) == found.peak_bytes
    assert set(found.by_phase) == {"forward", "loss", "backward", "optimizer"}
    assert found.reserved_bytes is None


def test_the_prediction_is_the_allocators_peak():
    how = {"recipe": Recipe(), "micro_batch": B, "seq_len": S, "optimizer": "adamw"}
    assert peak().peak_bytes == pytest.approx(measured_peak(bert(), BATCH, **how), rel=0.005)


def test_flops_count_a_recompute_apart():
    plain, again = peak(), peak(recipe=Recipe(recompute=uniform("nothing")))
    assert plain.work.recompute_flops == 0
    assert again.work.forward_flops == plain.work.forward_flops
    assert again.work.backward_flops == plain.work.backward_flops
    assert 0.5 * plain.work.forward_flops < again.work.recompute_flops < plain.work.forward_flops
    assert again.work.moved_bytes > plain.work.moved_bytes
    assert again.peak_bytes < plain.peak_bytes


@pytest.mark.parametrize(
    ("rules", "bytes_per_unit"), [("cpu", 72 + 12 * 4 * S / H), ("cuda", 66 + 9 * 4 * S / H)]
)
def test_eager_attention_keeps_what_each_device_keeps(rules, bytes_per_unit):
    """CUDA: Korthikanti's formula in fp32, one byte a mask element; a CPU keeps masks in fp32."""
    kept = block_bytes(bert(attention="eager"), BATCH, recipe=Recipe(), micro_batch=B, seq_len=S, rules=rules)
    assert kept[1] / (B * S * H) == pytest.approx(bytes_per_unit, rel=0.01)


def test_cuda_keeps_no_score_matrix_where_a_cpu_with_dropout_does():
    def of(rules):
        return saved_per_block(bert(), BATCH, recipe=Recipe(), rules=rules, longest=256)

    cpu, cuda = of("cpu"), of("cuda")
    assert cpu.exact
    assert cuda.exact
    assert cpu.coefficients[5] > 0
    assert cuda.coefficients[5] == 0


def test_saved_bytes_by_policy_are_ordered_and_full_recompute_keeps_the_input():
    def of(keep):
        return saved_per_block(
            bert(), BATCH, recipe=Recipe(recompute=uniform(keep)), rules="cuda", longest=128
        )

    found = [of(keep) for keep in ("all", "matmul+attention", "attention", "nothing")]
    sizes = [function.at(8, 128) for function in found]
    assert sizes == sorted(sizes, reverse=True)
    assert all(function.exact for function in found)
    assert found[-1].coefficients[4] == 4 * H


def test_autocast_follows_cudas_list():
    kept = block_bytes(bert(), BATCH, recipe=Recipe(precision="fp16"), micro_batch=B, seq_len=S, rules="cuda")
    assert 34 <= kept[1] / (B * S * H) <= 70


def test_rules_leave_no_trace_behind():
    x = torch.ones(2, 4, 8, 16)
    before = nn.functional.scaled_dot_product_attention(x, x, x)
    peak(rules="cuda")
    assert torch.equal(nn.functional.scaled_dot_product_attention(x, x, x), before)
    assert nn.functional.dropout(torch.ones(1000), 0.5).unique().numel() == 2


def test_cuda_reserves_more_than_it_allocates_and_expandable_segments_less_of_it():
    found = peak(rules="cuda")
    assert found.reserved_bytes >= found.peak_bytes
    assert found.total_bytes == found.reserved_bytes + found.context_bytes
    expandable = peak(recipe=Recipe(allocator=(("expandable_segments", "True"),)), rules="cuda")
    assert expandable.peak_bytes == found.peak_bytes


def test_fsdp_shards_states_and_ddp_adds_its_buckets():
    alone, sharded = peak(), peak(recipe=Recipe(sharding="fsdp"), world_size=4)
    assert sharded.places["optimizer"]["optimizer"] == pytest.approx(
        alone.places["optimizer"]["optimizer"] / 4, rel=0.02
    )
    ddp = peak(recipe=Recipe(sharding="ddp"), world_size=4)
    assert ddp.by_category["communication"] == alone.places["optimizer"]["gradients"]
    zero = peak(recipe=Recipe(sharding="zero1"), world_size=4)
    assert zero.by_category["optimizer"] == pytest.approx(ddp.by_category["optimizer"] / 4, rel=0.01)


def test_an_optimizer_that_reads_values_can_be_traced():
    assert peak(optimizer="adafactor").peak_bytes > 0
    with pytest.raises(UserError, match="no memory rule"):
        peak(optimizer="nosuch")


@pytest.mark.parametrize("rules", ["cpu", "cuda"])
def test_a_deep_model_is_extrapolated_within_one_percent(rules):
    how = {"recipe": Recipe(), "micro_batch": B, "seq_len": S, "optimizer": "adamw", "rules": rules}
    found = profile_deep_peak(lambda layers: bert(layers)(), BATCH, layers=10, **how)
    truth = profile_peak(bert(10), BATCH, **how)
    assert found.peak_bytes == pytest.approx(truth.peak_bytes, rel=0.001)
    assert found.by_phase == pytest.approx(truth.by_phase, rel=0.001)
    assert "extrapolated" in found.basis


class Uneven(nn.Module):
    """Blocks of one class and growing size: no line goes through them."""

    def __init__(self, layers):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"a": nn.Linear(8, 8 * 4**at), "b": nn.Linear(8 * 4**at, 8)})
            for at in range(layers)
        )

    def forward(self, input_ids, labels):
        x = nn.functional.one_hot(input_ids % 8, 8).float()
        for block in self.blocks:
            x = block["b"](block["a"](x).relu())
        return x.mean()


def test_a_model_whose_blocks_differ_is_traced_as_a_whole():
    how = {"recipe": Recipe(), "micro_batch": 2, "seq_len": 16, "optimizer": "sgd"}
    found = profile_deep_peak(Uneven, BATCH, layers=5, **how)
    assert found.basis == "traced"
    assert found.peak_bytes == profile_peak(lambda: Uneven(5), BATCH, **how).peak_bytes


@pytest.mark.parametrize("rules", ["cpu", "cuda"])
def test_the_largest_batch_fits_and_one_more_does_not(rules):
    capacity = (
        peak(micro_batch=9, rules=rules).total_bytes + peak(micro_batch=10, rules=rules).total_bytes
    ) // 2
    how = {"recipe": Recipe(), "seq_len": S, "optimizer": "adamw", "rules": rules}
    found = largest_micro_batch(bert(), BATCH, capacity_bytes=capacity, **how)
    assert found.micro_batch >= 9
    assert found.traces <= 8
    if rules == "cpu":
        assert found.traces <= 6
        assert found.micro_batch == 9
        assert found.peak.total_bytes <= capacity < found.exceeds.total_bytes
    assert largest_micro_batch(bert(), BATCH, capacity_bytes=1000, **how).micro_batch == 0


class NoLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, input_ids, labels):
        return {"logits": self.layer(torch.zeros(2, 2))}


def test_a_model_without_a_loss_is_refused():
    with pytest.raises(UserError, match="no loss") as caught:
        profile_peak(NoLoss, BATCH, recipe=Recipe(), micro_batch=1, seq_len=8, optimizer="sgd")
    assert caught.value.hint


def test_a_name_that_says_no_type_is_refused():
    with pytest.raises(UserError, match="nosuch"):
        config_of("nosuch")


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_adapters_are_traced_and_four_bits_take_a_seventh_of_fp32(method):
    from headway.profile.traced_types import TraceRequest
    from headway.profile.whole import traced_profile

    config = (("hidden_size", 256), ("intermediate_size", 1024), ("num_hidden_layers", 4), ("vocab_size", 64))
    request = TraceRequest(
        model="bert-large", config=config, method=method, micro_batch=2, seq_len=32, rules="cpu", rank=4
    )
    full = traced_profile(
        TraceRequest(model="bert-large", config=config, micro_batch=2, seq_len=32, rules="cpu"), None
    )
    found = traced_profile(request, None)
    assert found.parameters >= full.parameters
    assert found.trained < full.parameters / 10
    share = found.peak.by_category["parameters"] / full.peak.by_category["parameters"]
    assert 0.95 < share < 1.1 if method == "lora" else share < 0.3
