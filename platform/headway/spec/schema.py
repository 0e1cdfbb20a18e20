"""JSON Schema of the files that users write, for editors and other tools.

`python -m headway.spec.schema --write` renews the committed copies in `schemas/`.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from headway.spec.book import BookSpec
from headway.spec.cluster import ClusterSpec
from headway.spec.job import JobSpec
from headway.spec.parts import Part
from headway.spec.sites import SitesSpec

FOLDER = Path(__file__).parent / "schemas"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _FileSchema(GenerateJsonSchema):
    """As a file is written: a key is left out, never given without a value."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        written = super().default_schema(schema)
        if "default" in written and written["default"] in (None, {}):
            written.pop("default")
        return written


def _schema(model: type[Part], title: str) -> dict[str, Any]:
    written = model.model_json_schema(schema_generator=_FileSchema)
    return {"$schema": _DIALECT, **written, "title": title}


def job_schema() -> dict[str, Any]:
    """The schema of a job file."""
    return _schema(JobSpec, "Headway job")


def book_schema() -> dict[str, Any]:
    """The schema of a price book."""
    return _schema(BookSpec, "Headway price book")


def cluster_schema() -> dict[str, Any]:
    """The schema of a cluster file."""
    return _schema(ClusterSpec, "Headway cluster")


def sites_schema() -> dict[str, Any]:
    """The schema of a sites file."""
    return _schema(SitesSpec, "Headway sites")


def rendered() -> dict[str, str]:
    """The text of each committed schema, by its file's name."""
    schemas = {
        "job.schema.json": job_schema(),
        "sites.schema.json": sites_schema(),
        "book.schema.json": book_schema(),
        "cluster.schema.json": cluster_schema(),
    }
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()}


def main(arguments: Sequence[str]) -> int:
    """Print the schemas, or write them where they are committed."""
    if arguments not in ([], ["--write"]):
        sys.stderr.write("python -m headway.spec.schema [--write]\n")
        return 2
    for name, written in rendered().items():
        if arguments:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / name).write_text(written, encoding="utf-8")
        else:
            sys.stdout.write(written)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
