"""Small models of each family with what is done to them: predicted peak against the real allocator's."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from headway.memory.recipe import Recipe, uniform
from headway.profile.models import batch_maker, model_builder

VOCAB = 1024


class PlainEncoder(nn.Module):
    """Torch's own encoder with an embedding and a head."""

    def __init__(self, hidden: int = 128, heads: int = 4, layers: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, hidden)
        block = nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(hidden, VOCAB)

    def forward(self, input_ids: Tensor, labels: Tensor) -> Mapping[str, Tensor]:
        logits = self.head(self.encoder(self.embed(input_ids)))
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())}


ENCODER = {
    "hidden_size": 128,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "vocab_size": VOCAB,
    "num_hidden_layers": 3,
    "max_position_embeddings": 258,
}
DECODER = {"n_embd": 128, "n_head": 4, "n_layer": 3, "vocab_size": VOCAB, "n_positions": 256}
LLAMA = {"model_type": "llama", **ENCODER, "num_key_value_heads": 2}
FAMILIES = {
    "bert": model_builder("bert-base", ENCODER),
    "bert-eager": model_builder("bert-base", ENCODER, attention="eager"),
    "roberta": model_builder("roberta-large", ENCODER),
    "gpt2": model_builder("gpt2", DECODER),
    "llama": model_builder("small llama", LLAMA),
    "plain": PlainEncoder,
}


@dataclass(frozen=True)
class Case:
    family: str
    optimizer: str = "adamw"
    recipe: Recipe = Recipe()  # noqa: RUF009 - frozen
    world_size: int = 1
    micro_batch: int = 4
    seq_len: int = 128

    @property
    def name(self) -> str:
        recipe = self.recipe
        parts = [self.family, self.optimizer, recipe.sharding, str(self.world_size), recipe.precision]
        parts += [recipe.optimizer, *(segment.keep for segment in recipe.recompute), *recipe.layers]
        return "-".join([*parts, f"{recipe.accumulation}x{self.micro_batch}x{self.seq_len}"])


LEAN = ("fused_activation", "norm_from_output", "replayed_dropout", "lean_attention", "fused_loss")


def cases() -> list[Case]:
    found = [Case(family, optimizer) for family in FAMILIES for optimizer in ("adamw", "sgd")]
    found += [Case("bert", "momentum"), Case("gpt2", "adafactor"), Case("llama", "rmsprop")]
    found += [Case(family, recipe=Recipe(optimizer="in_backward")) for family in ("bert", "llama")]
    found += [Case(family, recipe=Recipe(recompute=uniform("nothing"))) for family in FAMILIES]
    found += [
        Case(family, recipe=Recipe(recompute=uniform("matmul+attention"))) for family in ("bert", "llama")
    ]
    found += [Case("bert", recipe=Recipe(accumulation=2)), Case("gpt2", recipe=Recipe(accumulation=4))]
    found += [Case("bert", recipe=Recipe(precision="bf16")), Case("llama", recipe=Recipe(precision="bf16"))]
    found += [Case("bert", recipe=Recipe(layers=(name,))) for name in LEAN]
    found += [Case("bert-eager", recipe=Recipe(layers=("packed_dropout",)))]
    found += [Case(family, recipe=Recipe(layers=LEAN)) for family in FAMILIES]
    found += [Case("bert", recipe=Recipe(layers=LEAN, recompute=uniform("nothing"), precision="bf16"))]
    found += [Case("bert", recipe=Recipe(sharding="fsdp"), world_size=2)]
    found += [Case("llama", recipe=Recipe(sharding="fsdp", precision="bf16"), world_size=2)]
    found += [
        Case(
            "bert", "sgd", Recipe(sharding="fsdp", recompute=uniform("nothing")), world_size=2, micro_batch=2
        ),
        Case("llama", recipe=Recipe(sharding="fsdp", layers=LEAN), world_size=4),
    ]
    return found


def predicted(case: Case) -> int:
    from headway.profile.peak import profile_peak

    return profile_peak(
        FAMILIES[case.family],
        batch_maker(VOCAB),
        recipe=case.recipe,
        micro_batch=case.micro_batch,
        seq_len=case.seq_len,
        optimizer=case.optimizer,
        world_size=case.world_size,
        rules="cpu",
    ).peak_bytes


def measured(case: Case) -> int:
    if case.world_size == 1:
        return _measure(case)
    said = subprocess.run(
        [sys.executable, __file__, case.name], stdout=subprocess.PIPE, text=True, timeout=120, check=True
    ).stdout
    return int(json.loads(said.splitlines()[-1]))


def _measure(case: Case) -> int:
    from headway.profile.measured import measured_peak

    torch.manual_seed(0)
    return measured_peak(
        FAMILIES[case.family],
        batch_maker(VOCAB),
        recipe=case.recipe,
        micro_batch=case.micro_batch,
        seq_len=case.seq_len,
        optimizer=case.optimizer,
    )


def _rank(case: Case, rank: int, folder: str) -> None:
    import torch.distributed as dist

    store = dist.FileStore(str(Path(folder) / "store"), case.world_size)
    dist.init_process_group("gloo", rank=rank, world_size=case.world_size, store=store)
    # Gloo gives buffers back from threads of its own, at times late: the least of three steps is the step.
    peak = min(_measure(case) for _try in range(3))
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print(json.dumps(peak), flush=True)


def _ranks(name: str) -> None:
    """All workers of a case, forked from one process that has imported what they need."""
    case = next(case for case in cases() if case.name == name)
    torch.set_num_threads(1)
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [fork.Process(target=_rank, args=(case, rank, folder)) for rank in range(case.world_size)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    sys.exit(max(abs(rank.exitcode or 0) for rank in ranks))


if __name__ == "__main__":
    # Workers are forked: what they need is imported once.
    importlib.import_module("transformers")
    importlib.import_module("headway.profile.measured")
    _ranks(sys.argv[1])
