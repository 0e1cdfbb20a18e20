"""Gradient accumulation over micro-batches."""

from __future__ import annotations

from headway.memory.technique import Technique

TECHNIQUE = Technique(
    name="accumulation",
    kind="step",
    does="a step's samples go through the model in parts, and their gradients are added",
    saves="activations of all but one part",
    costs="smaller matrix products; a mean over tokens, not samples, is weighted part by part",
    exact=True,
    needs="a loss that is a mean over samples; not with the optimizer inside the backward pass",
    source="common practice",
)
