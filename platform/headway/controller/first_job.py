"""A first job file, written by looking at a script: read as text and syntax, never run."""

from __future__ import annotations

import ast
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from headway.errors import NotFoundError, UserError
from headway.profile.configs import short_names
from headway.spec.written import written

_MODEL_HINTS = {
    "bert-large": "bert-large",
    "bert-base": "bert-base",
    "roberta-large": "roberta-large",
    "gpt2-xl": "gpt2-xl",
    "gpt2": "gpt2",
    "llama-3.1-8b": "llama-3.1-8b",
    "llama-3.1-70b": "llama-3.1-70b",
    "all-minilm-l6": "minilm-l6",
    "minilm_l6": "minilm-l6",
    "minilm-l6": "minilm-l6",
    "vit-large": "vit-l",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a script shows of itself: message ids of the findings, and the guesses made from them."""

    kind: str
    workers: int
    model: str | None


def look_at(script: Path) -> Seen:
    """Read a script.

    Raises:
        NotFoundError: there is no such file.
        UserError: it is not Python that can be parsed; the message has line and column.
    """
    if not script.is_file():
        raise NotFoundError("init.no_script", script=script)
    source = script.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        where = f"{getattr(error, 'lineno', None) or 1}:{getattr(error, 'offset', None) or 1}"
        # The parser's own text names the source "<unknown>": only what it found is repeated.
        cause = error.msg if isinstance(error, SyntaxError) else error
        raise UserError("init.not_python", script=script, where=where, cause=cause) from error
    imports = {name for node in ast.walk(tree) for name in _imported(node)}
    if any(name.startswith("headway") for name in imports):
        kind = "headway"
    elif any(name.startswith("ray.train") for name in imports):
        kind = "ray-train"
    else:
        kind = "plain"
    number = re.search(r"num_workers\s*=\s*(\d{1,3})", source)
    workers = int(number[1]) if number and kind != "plain" else (2 if kind == "headway" else 1)
    lowered = source.lower()
    model = next((short for hint, short in _MODEL_HINTS.items() if hint in lowered), None)
    assert model is None or model in short_names()
    return Seen(kind, max(1, workers), model)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def job_text(script: Path, seen: Seen) -> str:
    """The job file."""
    name = re.sub(r"[^A-Za-z0-9 ._-]+", "-", script.stem) or "run"
    entrypoint = f"python {shlex.quote(script.name)}"
    lines = [
        "# Written by headway init; every guess is marked.",
        "version: 1",
        f"name: {written(name)}",
        f"entrypoint: {json.dumps(entrypoint, ensure_ascii=False)}",
        "needs:",
        f"  workers: {seen.workers}          # guessed",
        "  cpus_per_worker: 1  # guessed",
    ]
    if seen.model is not None:
        lines += [
            "workload:             # what `headway plan` needs; guessed from names in the script",
            f"  model: {{factory: {seen.model}}}",
            "  samples: 100000     # guessed: put the real number here",
        ]
    return "\n".join(lines) + "\n"
