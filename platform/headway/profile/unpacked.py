"""Transformers reads token positions to see whether samples are packed; fake tensors have none to show."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


def _none(*_args: object, **_kwargs: object) -> None:
    return None


@contextmanager
def samples_unpacked() -> Generator[None]:
    """Within it each row of a batch is one sample, as on a real batch whose positions count from 0."""
    masking: Any = sys.modules.get("transformers.masking_utils")
    name = "find_packed_sequence_indices"
    plain = getattr(masking, name, None)
    if plain is None:
        yield
        return
    setattr(masking, name, _none)
    try:
        yield
    finally:
        setattr(masking, name, plain)
