"""PURE. Shapes of published models by name, and of unknown ones by their number of weights.

Figures are those of the models' public configurations. A number of weights alone gives layers and width by
the aspect ratio that large models have: width = 128 · layers (GPT-3, Llama), 64 where a model is small.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from headway.planner.throughput.setups import Shape
from headway.profile.types import ModelProfile


@dataclass(frozen=True, slots=True)
class _Known:
    """layers, hidden, heads, intermediate, vocab; key-value heads as a share; weights met by a token."""

    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocab: int
    kind: str
    parameters: float = 0.0
    active: float = 0.0
    choices: int = 0


def _mpt(layers: int, hidden: int, heads: int) -> _Known:
    return _Known(layers, hidden, heads, 4 * hidden, 50368, "gpt")


def _gpt(layers: int, hidden: int, heads: int, vocab: int = 50257) -> _Known:
    return _Known(layers, hidden, heads, 4 * hidden, vocab, "gpt")


def _llama(layers: int, hidden: int, heads: int, intermediate: int, vocab: int, parameters: float) -> _Known:
    return _Known(layers, hidden, heads, intermediate, vocab, "llama", parameters)


def _bert(layers: int, hidden: int, heads: int, vocab: int = 30522) -> _Known:
    return _Known(layers, hidden, heads, 4 * hidden, vocab, "bert")


_MODELS: dict[str, _Known] = {
    "mpt-125m": _mpt(12, 768, 12),
    "mpt-350m": _mpt(24, 1024, 16),
    "mpt-760m": _mpt(24, 1536, 12),
    "mpt-1b": _mpt(24, 2048, 16),
    "mpt-3b": _mpt(32, 2560, 20),
    "mpt-7b": _mpt(32, 4096, 32),
    "mpt-13b": _mpt(40, 5120, 40),
    "mpt-30b": _mpt(48, 7168, 56),
    "mpt-70b": _mpt(80, 8192, 64),
    "gpt2": _gpt(12, 768, 12),
    "gpt2-medium": _gpt(24, 1024, 16),
    "gpt2-large": _gpt(36, 1280, 20),
    "gpt2-xl": _gpt(48, 1600, 25),
    "gpt-22b": _gpt(48, 6144, 64, 51200),
    "gpt-175b": _gpt(96, 12288, 96, 51200),
    "gpt-530b": _gpt(105, 20480, 128, 51200),
    "gpt-1t": _gpt(128, 25600, 160, 51200),
    "gpt3-175b": _gpt(96, 12288, 96, 51200),
    "bert-base": _bert(12, 768, 12),
    "bert-large": _bert(24, 1024, 16),
    "roberta-base": _bert(12, 768, 12, 50265),
    "roberta-large": _bert(24, 1024, 16, 50265),
    "distilbert": _bert(6, 768, 12),
    "llama-2-7b": _llama(32, 4096, 32, 11008, 32000, 6.738e9),
    "llama-2-13b": _llama(40, 5120, 40, 13824, 32000, 13.016e9),
    "llama-2-70b": _llama(80, 8192, 64, 28672, 32000, 68.977e9),
    "llama-3-8b": _llama(32, 4096, 32, 14336, 128256, 8.030e9),
    "llama-3-70b": _llama(80, 8192, 64, 28672, 128256, 70.554e9),
    "llama-3-405b": _llama(126, 16384, 128, 53248, 128256, 405.853e9),
    "mistral-7b": _llama(32, 4096, 32, 14336, 32000, 7.242e9),
    "gemma-2-9b": _llama(42, 3584, 16, 14336, 256000, 9.242e9),
    "gemma-2-27b": _llama(46, 4608, 32, 36864, 256000, 27.227e9),
    "mixtral-8x7b": _Known(32, 4096, 32, 14336, 32000, "llama", 46.703e9, 12.880e9, 2),
    "mixtral-8x22b": _Known(56, 6144, 48, 16384, 32768, "llama", 140.6e9, 39.1e9, 2),
    "gpt-oss-20b": _Known(24, 2880, 64, 2880, 201088, "llama", 20.9e9, 3.6e9, 4),
    "gpt-oss-120b": _Known(36, 2880, 64, 2880, 201088, "llama", 116.8e9, 5.1e9, 4),
    "qwen3-30b-a3b": _Known(48, 2048, 32, 768, 151936, "llama", 30.5e9, 3.3e9, 8),
    "qwen3-235b-a22b": _Known(94, 4096, 64, 1536, 151936, "llama", 235e9, 22e9, 8),
    "deepseek-v3": _Known(61, 7168, 128, 2048, 129280, "llama", 671e9, 37e9, 9),
    "kimi-k2": _Known(61, 7168, 64, 2048, 163840, "llama", 1043e9, 32.6e9, 9),
    # A hybrid of state-space blocks, attention and experts: counted like a mixture of its active weights.
    "nemotron-3-super": _Known(88, 4096, 32, 2688, 131072, "llama", 120e9, 12e9, 6),
}
_WORDS: tuple[tuple[str, str], ...] = (
    (r"[_\s]+", "-"),
    (r"^llama-?3(\.\d)?-", "llama-3-"),
    (r"^llama-?2-", "llama-2-"),
    (r"^deepseek-?v3.*", "deepseek-v3"),
    (r"^kimi-k2.*", "kimi-k2"),
    (r"^nemotron-3-super.*", "nemotron-3-super"),
    (r"-squad$|-pretrain$|-uncased$|-cased$", ""),
)


def key_of(name: str) -> str:
    """A model's name as the table has it."""
    key = name.strip().lower()
    for pattern, word in _WORDS:
        key = re.sub(pattern, word, key)
    return key


def shape_of(name: str, parameters: float | None = None, active: float | None = None) -> Shape | None:
    """The shape of a published model, or one with as many weights; None where neither is known.

    `active` are the weights that a token meets, for mixtures of experts.
    """
    known = _MODELS.get(key_of(name))
    if known is not None:
        return _known_shape(known, parameters, active)
    return None if not parameters else shape_of_parameters(parameters, active)


def _known_shape(known: _Known, parameters: float | None, active: float | None) -> Shape:
    h, matrices = known.hidden, known.layers * 12.0 * known.hidden**2
    head = float(known.vocab * h)
    if known.kind == "llama":
        total = parameters or known.parameters
        met = active or known.active or total
        # One of the two tables is only looked up.
        return Shape(
            known.layers,
            h,
            known.heads,
            known.intermediate,
            known.vocab,
            total,
            met - head,
            gated=True,
            choices=known.choices,
        )
    total = parameters or matrices + head
    encoder = known.kind == "bert"
    return Shape(
        known.layers,
        h,
        known.heads,
        known.intermediate,
        known.vocab,
        total,
        matrices + head,
        causal=not encoder,
        dropout=encoder,
    )


def shape_of_parameters(parameters: float, active: float | None = None, *, vocab: int = 50304) -> Shape:
    """A decoder of the usual proportions with so many weights.

    12·layers·hidden² weights in blocks and one table of `vocab`, with hidden = 128 · layers from about
    7e9 weights on, and relatively deeper below.
    """
    met = active or parameters
    hidden = 64
    while _weights(hidden + 64, vocab) <= met:
        hidden += 64
    layers = _layers(hidden)
    return Shape(
        layers,
        hidden,
        max(1, hidden // 128),
        4 * hidden,
        vocab,
        parameters,
        met,
        choices=2 if parameters > 1.05 * met else 0,
    )


def _layers(hidden: int) -> int:
    ratio = min(128.0, max(43.0, hidden / 24))
    return max(2, round(hidden / ratio))


def _weights(hidden: int, vocab: int) -> float:
    return 12.0 * _layers(hidden) * hidden**2 + vocab * hidden


def with_attention(shape: Shape, *, fused: bool) -> Shape:
    """The same shape with another attention."""
    return replace(shape, fused_attention=fused)


def shape_of_profile(profile: ModelProfile, *, causal: bool = True) -> Shape:
    """The shape behind a profile, from what it keeps and computes for each token.

    Layers x hidden is what full recompute keeps; the loss head is what recompute does not repeat; hidden is
    then what makes 12·layers·hidden² of the rest. The proportions are a GPT's: for other blocks that is the
    width of the GPT with as many FLOPs.
    """
    element = 4.0 if profile.precision in {"fp32", "tf32"} else 2.0
    kept = profile.recompute_bytes_per_token / element
    full = profile.trainable >= 0.5 * profile.parameters
    attention = 12.0 * kept * profile.seq_len / (2 if causal else 1)
    blocks = (profile.recompute_flops_per_token - attention / 3) / 2
    matmul = (profile.flops_per_token - attention) / (6.0 if full else 4.0)
    if kept <= 0 or blocks <= 0 or matmul <= 0:
        return shape_of_parameters(float(profile.parameters))
    hidden = max(8, 8 * round(blocks / (96.0 * kept)))
    layers = max(1, round(kept / hidden))
    vocab = max(1, round(max(0.0, matmul - blocks) / hidden))
    return Shape(
        layers,
        hidden,
        max(1, hidden // 64),
        4 * hidden,
        vocab,
        float(profile.parameters),
        matmul,
        causal=causal,
    )
