"""Configurations: a number that cannot be one is named with its key, and lengths have their bounds."""

import pytest

from headway.errors import UserError
from headway.profile.configs import lengths_of, shape_of

KEYS = {
    "bert-large": [
        "num_hidden_layers",
        "hidden_size",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
        "type_vocab_size",
        "usual_length",
    ],
    "gpt2": ["n_layer", "n_embd", "n_head", "n_inner", "n_positions"],
    "vit-l": ["image_size", "patch_size", "num_labels"],
}


@pytest.mark.parametrize("value", [0, -5, "x", True, 24.5, [24], {}, ""])
@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in KEYS.items() for key in keys])
def test_a_bad_number_is_called_bad_by_key_and_value(name, key, value):
    if (key, value) == ("type_vocab_size", 0) and value is not False:
        assert shape_of(name, {key: value}).token_types == 0
        return
    with pytest.raises(UserError) as caught:
        shape_of(name, {key: value})
    assert caught.value.message == "profile.bad_number"
    assert key in str(caught.value)
    shown = {True: "true", "x": '"x"'}.get(value, str(value)) if isinstance(value, int | str) else ""
    assert shown in str(caught.value)


def test_a_number_that_is_not_there_is_lacking():
    with pytest.raises(UserError) as caught:
        shape_of("mine", {"model_type": "bert", "hidden_size": None})
    assert caught.value.message == "profile.no_number"


def test_an_unknown_model_may_be_a_configuration_or_a_factory():
    with pytest.raises(UserError) as caught:
        shape_of("nothing", {})
    assert "model_type" in caught.value.hint
    assert "module:function" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "config", "lengths"),
    [
        ("bert-large", {}, (1, 512)),
        ("minilm-l6", {"max_position_embeddings": 64}, (1, 64)),
        ("roberta-large", {}, (1, 512)),
        ("gpt2", {}, (1, 1024)),
        ("vit-l", {}, (197, 197)),
        ("vit-l", {"patch_size": 32}, (50, 50)),
        ("llama-3.1-8b", {}, None),
        ("nothing", {}, None),
    ],
)
def test_what_lengths_a_model_takes(name, config, lengths):
    assert lengths_of(name, config) == lengths
    if lengths is not None:
        assert lengths[0] <= shape_of(name, config).seq_len <= lengths[1], "also the usual one"
