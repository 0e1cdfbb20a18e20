"""Small models of every family, with dropout, and batches for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

VOCABULARY = 307
FAMILIES = ("bert", "roberta", "gpt2", "llama", "qwen2", "plain")


class Plain(nn.Module):
    """A stock nn.TransformerEncoder with a vocabulary head; its forward gives the loss."""

    def __init__(self, hidden: int = 32, layers: int = 2, dropout: float = 0.1) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, hidden)
        layer = nn.TransformerEncoderLayer(
            hidden, 4, 4 * hidden, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(hidden, VOCABULARY, bias=False)

    def forward(self, input_ids: Tensor, labels: Tensor) -> Tensor:
        logits = self.head(self.encoder(self.embed(input_ids)))
        return nn.functional.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1))


def model(
    family: str, *, layers: int = 2, hidden: int = 32, heads: int = 4, dropout: float = 0.1
) -> nn.Module:
    """A model of a family, its weights always the same."""
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
        RobertaConfig,
        RobertaForMaskedLM,
    )

    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 1}
    drops = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    encoder = {
        **shape, **drops, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
    }  # fmt: skip
    decoder = {
        **shape, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": max(1, heads // 2), "intermediate_size": 3 * hidden - 8,
        "attention_dropout": dropout,
    }  # fmt: skip
    if family == "bert":
        return BertForMaskedLM(BertConfig(**encoder))
    if family == "roberta":
        return RobertaForMaskedLM(RobertaConfig(**encoder, pad_token_id=2))
    if family == "gpt2":
        drop = {"resid_pdrop": dropout, "embd_pdrop": dropout, "attn_pdrop": dropout}
        return GPT2LMHeadModel(GPT2Config(**shape, **drop, n_embd=hidden, n_layer=layers, n_head=heads))
    if family == "llama":
        return LlamaForCausalLM(LlamaConfig(**decoder))
    if family == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config(**decoder))
    return Plain(hidden, layers, dropout)


def batch(samples: int = 4, length: int = 13, seed: int = 1) -> dict[str, Tensor]:
    """Token ids and labels, a third of them ignored."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, VOCABULARY, (samples, length), generator=generator)
    labels = ids.clone()
    labels[:, ::3] = -100
    return {"input_ids": ids, "labels": labels}


def bert_and_batch() -> tuple[nn.Module, dict[str, Tensor]]:
    return model("bert"), batch()


def gpt2_and_batch() -> tuple[nn.Module, dict[str, Tensor]]:
    return model("gpt2"), batch()


def llama_and_batch() -> tuple[nn.Module, dict[str, Tensor]]:
    return model("llama"), batch()


def plain_and_batch() -> tuple[nn.Module, dict[str, Tensor]]:
    return model("plain"), batch()


def roberta_and_batch() -> tuple[nn.Module, dict[str, Tensor]]:
    return model("roberta"), batch()
