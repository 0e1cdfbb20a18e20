"""PURE. A transformer's needs by closed form, from the numbers of its configuration.

- Parameters are counted matrix by matrix.
- FLOPs: 6 for each weight that a token meets (forward 2, backward 4), and the attention's 12·S·h a layer,
  half of it when causal; recompute adds one forward of the blocks.
- Saved activations, 16-bit, attention without a score matrix: GELU blocks with dropout 34 bytes per token
  and hidden unit (Korthikanti et al. 2205.05198, without its 5·a·S/h); RMSNorm and SwiGLU blocks
  12·h + 4·h·kv/heads + 8·f, counted from their operations. Twice that in fp32.
- With all exact layer techniques (`lean`), 16-bit: inputs of matrices and attention only; GELU blocks
  12·h + 2·f, SwiGLU blocks 8·h + 4·h·kv/heads + 4·f; logits exist for a few tokens at a time.
- The loss head keeps, for every logit, its 16-bit value, an fp32 copy and both gradients: 12 bytes.
- Mixed precision: 2 bytes a weight; gradients 2, fp32 master 4, AdamW moments 8 for what is trained.
"""

from __future__ import annotations

from headway.errors import UserError
from headway.profile.types import ModelProfile, ModelShape

BASIS = "closed form from the configuration"
_MOMENT_BYTES = {"adamw": 8, "adam": 8, "lion": 4, "sgd": 4, "rmsprop": 4, "adagrad": 4, "adafactor": 1}
_LOGIT_BYTES = 12
_GELU_BLOCK_BYTES = 34
_QLORA_BYTES_PER_WEIGHT = 0.55


def layer_parameters(shape: ModelShape) -> int:
    """Weights of one block, biases and norms included where the family has them."""
    h, f = shape.hidden, shape.intermediate
    kv = h * shape.kv_heads // shape.heads
    attention = h * h * 2 + h * kv * 2
    mlp = (3 if shape.gated else 2) * h * f
    if shape.gated:
        return attention + mlp + 2 * h
    biases = 2 * h + 2 * kv + f + h
    return attention + mlp + biases + 4 * h


def parameter_count(shape: ModelShape) -> int:
    """All weights of the model with its language-model head (or its classifier)."""
    h = shape.hidden
    blocks = shape.layers * layer_parameters(shape)
    embeddings = shape.vocab * h + shape.positions * h
    if shape.family == "encoder":
        head = h * h + h + 2 * h + shape.vocab
        return blocks + embeddings + shape.token_types * h + 2 * h + head
    if shape.family == "vit":
        patches = 3 * 16 * 16 * h + h + h
        return blocks + shape.positions * h + patches + 2 * h + shape.vocab * h + shape.vocab
    head = 0 if shape.tied else shape.vocab * h
    final_norm = h if shape.gated else 2 * h
    return blocks + embeddings + final_norm + head


def _adapter_parameters(shape: ModelShape, rank: int, targets: int) -> int:
    return shape.layers * targets * rank * 2 * shape.hidden


def profile_of(
    shape: ModelShape,
    *,
    method: str = "full",
    rank: int = 8,
    targets: int = 2,
    optimizer: str = "adamw",
    precision: str = "bf16",
    seq_len: int | None = None,
    lean: bool = False,
) -> ModelProfile:
    """The needs of a model trained by a method.

    Args:
        shape: the configuration's numbers.
        method: `full`, `lora` or `qlora`.
        rank: of the adapter's matrices; `targets` is how many of a block's matrices have one.
        targets: see `rank`.
        optimizer: as in the job file.
        precision: `bf16`, `fp16` (mixed, with an fp32 master copy) or `fp32`.
        seq_len: tokens in a sample; the shape's own by default.
        lean: whether all exact layer techniques are applied.

    Raises:
        UserError: a name that is not known.
    """
    if optimizer not in _MOMENT_BYTES:
        raise UserError("profile.no_optimizer", name=optimizer, known=", ".join(sorted(_MOMENT_BYTES)))
    parameters = parameter_count(shape)
    trainable = parameters if method == "full" else _adapter_parameters(shape, rank, targets)
    wide = precision == "fp32"
    element = 4 if wide else 2
    per_weight = _QLORA_BYTES_PER_WEIGHT if method == "qlora" else element
    gradient = trainable * element
    master = 0 if wide else trainable * 4
    length = seq_len or shape.seq_len
    block = (_lean_block if lean else _block_bytes_per_token)(shape) * element / 2
    blocks = shape.layers * layer_parameters(shape)
    attention = 12 * shape.layers * shape.hidden * length / (2 if shape.causal else 1)
    head = 0 if shape.family == "vit" else 6 * shape.hidden * shape.vocab
    backward_of_weights = 1.0 if method == "full" else 2 / 3
    logits = shape.vocab / length if shape.family == "vit" else shape.vocab
    return ModelProfile(
        name=shape.name,
        method=method,
        parameters=parameters,
        trainable=trainable,
        weight_bytes=round(parameters * per_weight),
        state_bytes=gradient + master + trainable * _MOMENT_BYTES[optimizer],
        gradient_bytes=gradient,
        activation_bytes_per_token=shape.layers * block,
        recompute_bytes_per_token=shape.layers * shape.hidden * element,
        layer_bytes_per_token=block,
        logit_bytes_per_token=min(logits, shape.hidden if lean else logits) * _LOGIT_BYTES,
        flops_per_token=(6 * blocks + head) * backward_of_weights + attention,
        recompute_flops_per_token=2 * blocks + attention / 3,
        seq_len=length,
        precision=precision,
        basis=f"{BASIS} ({shape.source})",
    )


def _lean_block(shape: ModelShape) -> float:
    if shape.gated:
        return 8 * shape.hidden + 4 * shape.hidden * shape.kv_heads / shape.heads + 4 * shape.intermediate
    return 12 * shape.hidden + 2 * shape.intermediate


def _block_bytes_per_token(shape: ModelShape) -> float:
    if shape.gated:
        return 12 * shape.hidden + 4 * shape.hidden * shape.kv_heads / shape.heads + 8 * shape.intermediate
    return _GELU_BLOCK_BYTES * shape.hidden * (0.5 + 0.125 * shape.intermediate / shape.hidden)
