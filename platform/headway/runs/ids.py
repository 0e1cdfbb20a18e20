"""PURE. Run ids and backend names.

A run id is a slug of at most 26 characters, a dash and 10 base-32 characters; it starts with a letter and
is also the Ray Train run name. A backend job is named `<id>-a<attempt>`: at most 47 characters, the limit
of a RayJob's name.
"""

from __future__ import annotations

import re
import unicodedata

SLUG_LENGTH = 26
RANDOM_BYTES = 7  # 56 bits, of which 50 become 10 base-32 digits
BACKEND_NAME_LENGTH = 47
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no i, l, o, u
RUN_ID = re.compile(rf"[a-z][a-z0-9-]{{0,{SLUG_LENGTH - 1}}}-[{_ALPHABET}]{{10}}")


def slug(name: str) -> str:
    """A DNS-safe name of at most 26 characters that starts with a letter.

    >>> slug("Été 2026: BERT!"), slug("7b"), slug("日本")
    ('ete-2026-bert', 'r-7b', 'run')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "run"
    if not words[0].isalpha():
        words = f"r-{words}"
    return words[:SLUG_LENGTH].rstrip("-")


def new_run_id(name: str, randomness: bytes) -> str:
    """The id of a new run; `randomness` is 7 bytes from the caller, since this room has none."""
    number = int.from_bytes(randomness[:RANDOM_BYTES], "big")
    digits = "".join(_ALPHABET[(number >> (5 * i)) & 31] for i in range(10))
    return f"{slug(name)}-{digits}"


def backend_name(run_id: str, attempt: int) -> str:
    """The name of an attempt at its backend."""
    return f"{run_id}-a{attempt}"
