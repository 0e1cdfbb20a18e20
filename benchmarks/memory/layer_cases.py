"""Bytes that one transformer block keeps for its backward pass, in bf16, under CUDA's rules.

Ours and the baselines, from the same trace: eager, Tempo's closed form, stock fused attention, selective
checkpointing by policy, and the partitioner behind torch.compile at the lowest budget that repeats no matrix
product. Bytes are per token and hidden unit (B·S·h), of a block within a stack.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headway.memory.recipe import Recipe, uniform
from headway.memory.registry import LEAN_LAYERS
from headway.profile.peak import profile_peak
from headway.profile.rules import device_rules

HIDDEN, HEADS, SAMPLES, LAYERS = 1024, 16, 2, 3
LENGTHS = (128, 512, 2048, 8192)
VOCABULARY = 2048


@contextlib.contextmanager
def bfloat16() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def encoder(attention: str, layers: int = LAYERS) -> nn.Module:
    """BERT-Large's block, with dropout."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        num_hidden_layers=layers, hidden_size=HIDDEN, num_attention_heads=HEADS, intermediate_size=4 * HIDDEN,
        max_position_embeddings=8192, vocab_size=VOCABULARY,
    )  # fmt: skip
    with bfloat16():
        return BertForMaskedLM._from_config(config, attn_implementation=attention).train()


def decoder(attention: str, layers: int = LAYERS) -> nn.Module:
    """A Llama-3-type block: grouped keys, SwiGLU of 3.5 h."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        num_hidden_layers=layers, hidden_size=HIDDEN, num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 4, intermediate_size=7 * HIDDEN // 2, vocab_size=VOCABULARY,
        max_position_embeddings=8192,
    )  # fmt: skip
    with bfloat16():
        return LlamaForCausalLM._from_config(config, attn_implementation=attention).train()


def batch(samples: int, length: int) -> Mapping[str, Tensor]:
    ids = torch.randint(0, VOCABULARY, (samples, length))
    return {"input_ids": ids, "labels": ids.clone()}


def kept(build: Callable[[], nn.Module], recipe: Recipe, length: int) -> tuple[float, float]:
    """What a block in the middle keeps, and what recompute repeats in FLOPs per token and hidden unit."""
    peak = profile_peak(
        build, batch, recipe=recipe, micro_batch=SAMPLES, seq_len=length, optimizer="sgd", rules="cuda"
    )
    each = SAMPLES * length * HIDDEN
    return peak.block_bytes[len(peak.block_bytes) // 2] / each, peak.work.recompute_flops / LAYERS / each


def tempo(length: int) -> float:
    """Tempo's closed form for an encoder block in 16 bits (its repository's operations, counted)."""
    return 28 + 3 * HEADS * length / HIDDEN


def partitioned(family: str, length: int) -> float:
    """torch.compile's partitioner at the lowest budget that repeats no matrix product and no attention."""
    plain, least = _partition(family, length, 1.0)
    found = [plain]
    for budget in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        size, heavy = _partition(family, length, budget)
        if heavy <= least:
            found.append(size)
    return min(found)


def _partition(family: str, length: int, budget: float) -> tuple[float, int]:
    """Kept bytes, and how many matrix products and attentions the backward graph computes."""
    from functools import partial

    import torch._functorch.config as functorch
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch._subclasses.fake_tensor import FakeTensorMode

    graphs: dict[str, Any] = {}

    def keep(name: str, graph: Any, _inputs: Any) -> Any:
        graphs[name] = graph
        return make_boxed_func(graph.forward)

    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with device_rules("cuda"), fake, functorch.patch(activation_memory_budget=budget):
        whole = encoder("sdpa", 1) if family == "encoder" else decoder("sdpa", 1)
        block, more = _block_of(whole, family, length)
        with bfloat16():
            x = torch.randn(SAMPLES, length, HIDDEN, requires_grad=True)
        compiled = aot_module_simplified(
            _Alone(block, bool(more)), (x, *more),
            fw_compiler=partial(keep, "forward"), bw_compiler=partial(keep, "backward"),
            partition_fn=min_cut_rematerialization_partition,
        )  # fmt: skip
        compiled(x, *more)[0].sum().backward()
    forward, backward = graphs["forward"].graph, graphs["backward"].graph
    outputs = next(node for node in forward.nodes if node.op == "output").args[0]
    sizes: dict[str, int] = {}
    for node in outputs[1:]:
        root = _root(node)
        value = getattr(root, "meta", {}).get("val")
        # Weights are kept by the model anyway; the block's input is a placeholder of an input's shape.
        ours = root.op != "placeholder" or tuple(value.shape) == tuple(x.shape)
        if isinstance(value, Tensor) and ours:
            sizes[root.name] = value.numel() * value.element_size()
    heavy = sum(_is_heavy(str(node.target)) for node in backward.nodes)
    return sum(sizes.values()) / (SAMPLES * length * HIDDEN), heavy


_VIEWS = ("aten.t.", "aten.permute", "aten.transpose", "aten.view", "aten.expand", "aten._unsafe_view")


def _root(node: Any) -> Any:
    """What a view is a view of."""
    while node.op == "call_function" and str(node.target).startswith(_VIEWS):
        node = node.args[0]
    return node


def _is_heavy(name: str) -> bool:
    forward_attention = "attention" in name and "backward" not in name
    return forward_attention or any(word in name for word in ("aten.mm", "aten.addmm", "aten.bmm"))


class _Alone(nn.Module):
    """A block as a function of its hidden states, and of its rotary table where it has one."""

    def __init__(self, block: nn.Module, rotary: bool) -> None:
        super().__init__()
        self.block = block
        self.rotary = rotary

    def forward(self, x: Tensor, *table: Tensor) -> tuple[Tensor]:
        return (self.block(x, position_embeddings=table) if self.rotary else self.block(x),)


def _block_of(model: Any, family: str, length: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    if family == "encoder":
        return model.bert.encoder.layer[0], ()
    positions = torch.arange(length)[None]
    with bfloat16(), torch.no_grad():
        return model.model.layers[0], model.model.rotary_emb(torch.zeros(1, length, HIDDEN), positions)


LEAN = Recipe(layers=LEAN_LAYERS)
POLICY = Recipe(recompute=uniform("matmul+attention"))
