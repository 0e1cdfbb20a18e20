"""Pretrain a BERT, RoBERTa, GPT-2 or Llama-type model from its configuration, with held-out loss.

Runs as `headway run jobs/bert-tiny.yaml`, as plain `python jobs/pretrain.py --config bert-tiny`, and by `ray
job submit`. The text is the standard library's own topics (465 kB), or `--data`: a .txt file or a folder of
them; its tokenizer (byte-pair encoding) is learned from it. The run's memory recipe is applied.
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

import torch

import headway.train

HELD_OUT_EVERY = 10  # every tenth block of text is kept out of training
MASK_SHARE = 0.15
SPECIAL = ["<pad>", "<mask>", "<s>", "</s>"]
PAD, MASK, FIRST, LAST = range(4)
SIZES = {
    "bert-tiny": ("bert", {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}),
    "bert-large": ("bert", {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}),
    "roberta-tiny": ("roberta", {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}),
    "roberta-large": ("roberta", {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}),
    "gpt2-tiny": ("gpt2", {"n_embd": 128, "n_layer": 2, "n_head": 2}),
    "gpt2": ("gpt2", {"n_embd": 768, "n_layer": 12, "n_head": 12}),
    "gpt2-xl": ("gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "llama-tiny": ("llama", {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}),
}
VOCABULARY = {"bert": 30522, "roberta": 50265, "gpt2": 50257, "llama": 32000}
TINY_VOCABULARY = 4096


def texts(data: str | None) -> list[str]:
    """The documents to learn from."""
    if data is None:
        from pydoc_data.topics import topics

        return list(topics.values())
    root = Path(data)
    files = [root] if root.is_file() else sorted(root.rglob("*.txt"))
    if not files:
        raise SystemExit(f"--data: no such file, or a folder without .txt files: {data}")
    return [path.read_text(encoding="utf-8", errors="replace") for path in files]


def learn_tokenizer(documents: list[str], size: int) -> str:
    """A byte-pair encoding of the documents, as JSON that every worker loads."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer.to_str()


def blocks(tokenizer: str, documents: list[str], length: int) -> torch.Tensor:
    """All text as rows of `length` token ids, special tokens at both ends; the ragged tail is dropped."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_str(tokenizer)
    ids = [token for document in documents for token in loaded.encode(document).ids]
    body = length - 2
    rows = [[FIRST, *ids[start : start + body], LAST] for start in range(0, len(ids) - body + 1, body)]
    if len(rows) < 2 * HELD_OUT_EVERY:
        raise SystemExit(
            f"the text fills {len(rows)} blocks of {length} tokens: too few to train and to evaluate"
        )
    return torch.tensor(rows)


def build(name: str, length: int) -> torch.nn.Module:
    """The model of a configuration, its weights freshly drawn: the same on every worker."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    kind, sizes = SIZES[name]
    vocabulary = TINY_VOCABULARY if name.endswith("-tiny") else VOCABULARY[kind]
    positions = {"gpt2": {"n_positions": length}}.get(kind, {"max_position_embeddings": length + 2})
    hidden = sizes.get("hidden_size", 0)
    inner = {} if kind == "gpt2" else {"intermediate_size": 4 * hidden if kind != "llama" else 3 * hidden}
    tokens = {"pad_token_id": PAD, "bos_token_id": FIRST, "eos_token_id": LAST}
    config = AutoConfig.for_model(
        kind, vocab_size=vocabulary, use_cache=False, **sizes, **positions, **inner, **tokens
    )
    torch.manual_seed(0)
    family = AutoModelForMaskedLM if kind in {"bert", "roberta"} else AutoModelForCausalLM
    return family.from_config(config)


def model_and_batch(name: str = "bert-tiny", samples: int = 4, length: int = 32):
    """For `workload.model.factory`: the model, and an example batch."""
    masked = SIZES[name][0] in {"bert", "roberta"}
    ids = torch.randint(
        len(SPECIAL), TINY_VOCABULARY, (samples, length), generator=torch.Generator().manual_seed(0)
    )
    return build(name, length), inputs_of(ids, masked, torch.Generator().manual_seed(1))


def inputs_of(rows: torch.Tensor, masked: bool, generator: torch.Generator | None = None) -> dict:
    """What the model is given: for a masked model BERT's masking, for a causal one the rows themselves."""
    if not masked:
        return {"input_ids": rows, "labels": rows}
    inputs, labels = rows.clone(), rows.clone()

    def draw() -> torch.Tensor:
        return torch.rand(rows.shape, generator=generator)

    chosen = (draw() < MASK_SHARE) & (rows >= len(SPECIAL))
    labels[~chosen] = -100
    how = draw()
    inputs[chosen & (how < 0.8)] = MASK
    swap = chosen & (how >= 0.8) & (how < 0.9)
    inputs[swap] = torch.randint(len(SPECIAL), TINY_VOCABULARY, rows.shape, generator=generator)[swap]
    return {"input_ids": inputs, "labels": labels}


@torch.no_grad()
def held_out_loss(model, rows: torch.Tensor, masked: bool, batch_size: int) -> float:
    """Loss over the held-out blocks, with the same masks every time; all workers take part."""
    model.eval()
    generator = torch.Generator().manual_seed(1)
    total, count = 0.0, 0
    for part in rows.split(batch_size):
        inputs = inputs_of(part, masked, generator)
        tokens = int((inputs["labels"] != -100).sum())
        if tokens:
            total += float(model(**inputs).loss) * tokens
            count += tokens
    model.train()
    return total / count if count else math.nan


def loss_of(model, part: dict) -> torch.Tensor:
    """The mean loss of some samples."""
    return model(**part).loss


def loop(context) -> None:
    """What each worker does."""
    args = context.config
    masked = SIZES[args["config"]][0] in {"bert", "roberta"}
    rows = blocks(args["tokenizer"], texts(args["data"]), args["seq_len"])
    held = rows[::HELD_OUT_EVERY][: args["held_out"]]
    train = rows[[i for i in range(len(rows)) if i % HELD_OUT_EVERY]]
    step = context.optimize(
        build(args["config"], args["seq_len"]),
        lambda parameters: torch.optim.AdamW(parameters, lr=args["lr"]),
    )
    resumed = context.restore()
    if not resumed:
        torch.manual_seed(1000 + context.rank)  # each worker masks and drops on its own

    def evaluate() -> None:
        with context.phase("eval"):
            loss = held_out_loss(step.model, held, masked, args["batch_size"])
            context.metric("held_out_loss", loss)

    if not resumed:
        evaluate()
    for batch in context.batches(train, args["batch_size"], steps=args["steps"], seed=args["seed"]):
        loss = step(inputs_of(batch, masked), loss_of)
        context.step(loss=loss, samples=len(batch), tokens=batch.numel())
    evaluate()


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", choices=sorted(SIZES), default="bert-tiny")
    parser.add_argument("--data", help="a .txt file, or a folder of them")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=8, help="on each worker, a step")
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held-out", type=int, default=64, help="blocks of text to evaluate on")
    parser.add_argument("--checkpoint-steps", type=int, default=30)
    config = vars(parser.parse_args())
    if os.environ.get("HEADWAY_METHOD", "full") != "full":
        parser.error("this script trains all weights; minilm_mlm.py has --method lora")
    if config["data"] is not None:
        config["data"] = str(Path(config["data"]).absolute())
    config["tokenizer"] = learn_tokenizer(texts(config["data"]), TINY_VOCABULARY)
    headway.train.run(loop, config)


if __name__ == "__main__":
    main()
