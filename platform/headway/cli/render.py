"""Output in the form that was asked for: data on stdout, everything else on stderr."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import click

from headway.messages import text

FORMATS = ("table", "json", "yaml", "csv")
output_option = click.option(
    "-o",
    "--output",
    "output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help=text("cli.output"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def say(message: str) -> None:
    """Tell the person something that is not data."""
    click.echo(message, err=True)


def emit(
    output: str,
    document: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    table: Callable[[], str],
) -> None:
    """Print a document as JSON or YAML, its rows as CSV, or the table for people."""
    if output == "json":
        click.echo(json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False))
    elif output == "yaml":
        import yaml

        click.echo(yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True).rstrip())
    elif output == "csv":
        click.echo(to_csv(rows), nl=False)
    else:
        click.echo(table())


def _finite(value: object) -> object:
    """The value with null for NaN and infinity (the loss of a run that diverged), which JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("Sequence[object]", value)]
    return value


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV.

    What is nested in a row is JSON; a cell that a spreadsheet would run as a formula is made text by a
    leading quote.
    """
    if not rows:
        return ""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return buffer.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(_finite(cast("object", value)), ensure_ascii=False, allow_nan=False)
    if not isinstance(value, str):
        return "" if value is None else value
    # The writer of Python before 3.13 leaves a lone carriage return unquoted, where it would end the row.
    plain = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{plain}" if value.startswith(_FORMULA) and not _is_number(value) else plain


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of cells as aligned columns, two spaces apart."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def is_terminal() -> bool:
    """Whether a person looks at stderr: no animation otherwise, nor in CI or on a dumb terminal."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
