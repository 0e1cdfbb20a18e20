"""Model configurations: short names of published ones, and Hugging Face configurations as mappings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from headway.errors import UserError
from headway.profile.types import Family, ModelShape
from headway.spec.problems import show

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
    "usual": ("usual_length",),
    "image": ("image_size",),
    "patch": ("patch_size",),
    "token_types": ("type_vocab_size",),
}
_TOKEN_TYPES = {"bert": 2, "roberta": 1}
_USUAL_MOST = 2048
_UNUSED_POSITIONS = {"roberta": 2}  # its positions begin after the padding token's


@cache
def short_names() -> dict[str, dict[str, object]]:
    """The published configurations in the package, by short name."""
    text = files("headway.profile").joinpath("data", "models.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def shape_of(name: str, config: Mapping[str, object]) -> ModelShape:
    """The shape of a short name, of a Hugging Face configuration, or of the first changed by the second.

    Raises:
        UserError: the name is not known and the configuration does not say enough, or has an unknown type,
            or a number that cannot be one.
    """
    merged = _merged(name, config)
    model_type = str(merged.get("model_type", ""))
    if model_type not in _FAMILIES:
        raise UserError("profile.no_model", name=name, known=", ".join(sorted(short_names())))
    family = _FAMILIES[model_type]

    def number(field: str, default: int | None = None, least: int = 1) -> int:
        found = _number(name, merged, field, least)
        if found is None and default is None:
            raise UserError("profile.no_number", name=name, key=" / ".join(_NAMES[field]))
        return found if found is not None else (default or 0)

    hidden, heads = number("hidden"), number("heads")
    tokens = _image_tokens(name, merged)
    positions = tokens if family == "vit" else number("positions", 0 if family == "llama" else None)
    longest = positions - _UNUSED_POSITIONS.get(model_type, 0) if positions else _USUAL_MOST
    usual = number("usual", min(longest, _USUAL_MOST))
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
        token_types=number("token_types", _TOKEN_TYPES.get(model_type, 0), least=0),
        seq_len=tokens if family == "vit" else (min(usual, longest) if positions else usual),
        tied=bool(merged.get("tie_word_embeddings", family != "llama")),
        source=str(merged.get("source", "the job file")),
    )


def lengths_of(name: str, config: Mapping[str, object]) -> tuple[int, int] | None:
    """The shortest and longest sample in tokens that a model takes; None where nothing bounds it.

    A model with learned positions has no more than those; a vision model makes as many of every image.

    Raises:
        UserError: a number of the configuration cannot be one.
    """
    merged = _merged(name, config)
    model_type = str(merged.get("model_type", ""))
    family = _FAMILIES.get(model_type)
    if family is None or family == "llama":
        return None
    if family == "vit":
        tokens = _image_tokens(name, merged)
        return tokens, tokens
    positions = _number(name, merged, "positions")
    return None if positions is None else (1, positions - _UNUSED_POSITIONS.get(model_type, 0))


def _merged(name: str, config: Mapping[str, object]) -> dict[str, object]:
    return {**short_names().get(name.lower(), {}), **config}


def _image_tokens(name: str, merged: Mapping[str, object]) -> int:
    image = _number(name, merged, "image") or 224
    return (image // (_number(name, merged, "patch") or 16)) ** 2 + 1


def _number(name: str, merged: Mapping[str, object], field: str, least: int = 1) -> int | None:
    """The number under the first of a field's keys that has one; None where none has."""
    for key in _NAMES[field]:
        value = merged.get(key)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UserError("profile.bad_number", name=name, key=key, value=show(value), least=least)
        return value
    return None
