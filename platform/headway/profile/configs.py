"""Model configurations: short names of published ones, and Hugging Face configurations as mappings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from headway.errors import UserError
from headway.profile.types import Family, ModelShape

_FAMILIES: dict[str, Family] = {
    "bert": "encoder",
    "roberta": "encoder",
    "gpt2": "decoder",
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "llama",
    "qwen3": "llama",
    "vit": "vit",
}
# Names of the same number in configurations of different model types.
_NAMES: dict[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer"),
    "hidden": ("hidden_size", "n_embd"),
    "heads": ("num_attention_heads", "n_head"),
    "kv_heads": ("num_key_value_heads",),
    "intermediate": ("intermediate_size", "n_inner"),
    "vocab": ("vocab_size", "num_labels"),
    "positions": ("max_position_embeddings", "n_positions"),
}


@cache
def short_names() -> dict[str, dict[str, object]]:
    """The published configurations in the package, by short name."""
    text = files("headway.profile").joinpath("data", "models.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def shape_of(name: str, config: Mapping[str, object]) -> ModelShape:
    """The shape of a short name, of a Hugging Face configuration, or of the first changed by the second.

    Raises:
        UserError: the name is not known and the configuration does not say enough, or has an unknown type.
    """
    known = short_names().get(name.lower(), {})
    merged: dict[str, object] = {**known, **config}
    model_type = str(merged.get("model_type", ""))
    if model_type not in _FAMILIES:
        raise UserError("profile.no_model", name=name, known=", ".join(sorted(short_names())))
    family = _FAMILIES[model_type]

    def number(field: str, default: int | None = None) -> int:
        for key in _NAMES[field]:
            value = merged.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        if default is None:
            raise UserError("profile.no_number", name=name, key=" / ".join(_NAMES[field]))
        return default

    hidden, heads = number("hidden"), number("heads")
    image, patch = merged.get("image_size", 224), merged.get("patch_size", 16)
    tokens = (int(str(image)) // int(str(patch))) ** 2 + 1
    positions = tokens if family == "vit" else number("positions", 0 if family == "llama" else None)
    usual = merged.get("usual_length", min(positions or 2048, 2048))
    return ModelShape(
        name=name,
        family=family,
        layers=number("layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=number("kv_heads", heads),
        intermediate=number("intermediate", 4 * hidden),
        vocab=number("vocab", 1000 if family == "vit" else None),
        positions=0 if family == "llama" else positions,
        token_types=_token_types(model_type, merged),
        seq_len=tokens if family == "vit" else int(str(usual)),
        tied=bool(merged.get("tie_word_embeddings", family != "llama")),
        source=str(merged.get("source", "the job file")),
    )


def _token_types(model_type: str, config: Mapping[str, object]) -> int:
    given = config.get("type_vocab_size")
    if isinstance(given, int):
        return given
    return {"bert": 2, "roberta": 1}.get(model_type, 0)
