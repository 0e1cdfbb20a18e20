"""Job and sites files, read and checked: what the rest of the product calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from headway.spec.cluster import ClusterSpec
from headway.spec.job import JobSpec
from headway.spec.loader import Document, parse_value, read
from headway.spec.positions import Position, Positions
from headway.spec.problems import KeyPath, Problem, SpecProblems, dotted, show
from headway.spec.sites import SitesSpec
from headway.spec.validation import validate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike


@dataclass(frozen=True, slots=True)
class LoadedJob:
    """A checked job spec and where each of its keys stands; the digest is of the file as it was read."""

    spec: JobSpec
    positions: Positions
    path: Path
    text_sha256: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedSites:
    """A checked sites file and where each of its keys stands."""

    spec: SitesSpec
    positions: Positions
    path: Path
    text_sha256: str


def load_job(path: str | PathLike[str], overrides: Iterable[str] = ()) -> LoadedJob:
    """Read and check a job file.

    Args:
        path: the file.
        overrides: `dotted.key=value` texts that replace or add keys; the value is read as YAML.

    Raises:
        NotFoundError: there is no such file.
        SpecProblems: with everything that is wrong with it.
    """
    place, given = Path(path), tuple(overrides)
    document = read(place)
    for override in given:
        _override(document, override)
    return LoadedJob(validate(JobSpec, document), document.positions, place, document.sha256, given)


def load_sites(path: str | PathLike[str]) -> LoadedSites:
    """Read and check a sites file.

    Raises:
        NotFoundError: there is no such file.
        SpecProblems: with everything that is wrong with it.
    """
    place = Path(path)
    document = read(place)
    return LoadedSites(validate(SitesSpec, document), document.positions, place, document.sha256)


def load_cluster(path: str | PathLike[str]) -> ClusterSpec:
    """Read and check a cluster file.

    Raises:
        NotFoundError: there is no such file.
        SpecProblems: with everything that is wrong with it.
    """
    return validate(ClusterSpec, read(Path(path)))


def _override(document: Document, override: str) -> None:
    key, equals, written = override.partition("=")
    path: KeyPath = tuple(part.strip() for part in key.split("."))
    name = f"--set {dotted(path)}"
    if not equals or not all(path) or not written.strip():
        document.problems.append(Problem(name, 0, 0, (), "spec.override_form", {"given": show(override)}))
        return
    value, problems = parse_value(written, name)
    if problems:
        document.problems.extend(Problem(one.file, 0, 0, path, one.message, one.values) for one in problems)
        return
    here = document.data
    for depth, part in enumerate(path[:-1], start=1):
        below = here.setdefault(str(part), {})
        document.positions.keys.setdefault(path[:depth], Position(name, 0, 0))
        if not isinstance(below, dict):
            document.problems.append(Problem(name, 0, 0, path[:depth], "spec.override_path"))
            return
        here = cast("dict[str, object]", below)
    _forget(document, path)
    here[str(path[-1])] = value
    document.positions.keys[path] = document.positions.values[path] = Position(name, 0, 0)


def _forget(document: Document, path: KeyPath) -> None:
    # What the file said at or below the path no longer counts, nor do problems with it.
    for table in (document.positions.keys, document.positions.values):
        for known in [known for known in table if known[: len(path)] == path]:
            del table[known]
    document.problems[:] = [one for one in document.problems if not one.path or one.path[: len(path)] != path]


__all__ = ["LoadedJob", "LoadedSites", "SpecProblems", "load_cluster", "load_job", "load_sites"]
