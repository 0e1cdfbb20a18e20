"""Models to trace: a transformers model from a configuration, and an example batch for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from headway.errors import UserError
from headway.profile.configs import short_names

Build = Callable[[], nn.Module]
MakeBatch = Callable[[int, int], Mapping[str, Tensor]]

_LAYER_KEYS = ("num_hidden_layers", "n_layer")
_HEADS = {
    "bert": "AutoModelForMaskedLM",
    "roberta": "AutoModelForMaskedLM",
    "vit": "AutoModelForImageClassification",
}


def config_of(name: str, changes: Mapping[str, Any] | None = None, *, layers: int | None = None) -> Any:  # noqa: ANN401
    """A transformers configuration from a short name or its own keys, with a number of layers.

    Raises:
        UserError: neither says what type of model it is.
    """
    from transformers import AutoConfig

    keys: dict[str, Any] = {**short_names().get(name.lower(), {}), **(changes or {})}
    for ours in ("source", "usual_length"):
        keys.pop(ours, None)
    model_type = keys.pop("model_type", None)
    if model_type is None:
        raise UserError("profile.no_model", name=name, known=", ".join(sorted(short_names())))
    if layers is not None:
        key = next((key for key in _LAYER_KEYS if key in keys), _LAYER_KEYS[0])
        keys[key] = layers
    keys["use_cache"] = False
    return AutoConfig.for_model(str(model_type), **keys)


def model_builder(
    name: str,
    changes: Mapping[str, Any] | None = None,
    *,
    layers: int | None = None,
    attention: str = "sdpa",
) -> Build:
    """How to build a model for training; weights are whatever the library's initialiser makes."""

    def build() -> nn.Module:
        import transformers

        config = config_of(name, changes, layers=layers)
        head = getattr(transformers, _HEADS.get(str(config.model_type), "AutoModelForCausalLM"))
        model: nn.Module = head.from_config(config, attn_implementation=attention)
        return model.train()

    return build


def layers_of(name: str, changes: Mapping[str, Any] | None = None) -> int:
    """The number of blocks a configuration asks for."""
    return int(config_of(name, changes).num_hidden_layers)


def batch_maker(vocab: int, *, image: int | None = None) -> MakeBatch:
    """How to make an example batch: token ids and labels of shape (B, S), or images and one label each."""

    def tokens(micro_batch: int, seq_len: int) -> Mapping[str, Tensor]:
        ids = torch.randint(0, vocab, (micro_batch, seq_len))
        return {"input_ids": ids, "labels": ids.clone()}

    def images(micro_batch: int, _seq_len: int) -> Mapping[str, Tensor]:
        pixels = torch.zeros(micro_batch, 3, image or 224, image or 224)
        return {"pixel_values": pixels, "labels": torch.zeros(micro_batch, dtype=torch.long)}

    return tokens if image is None else images
