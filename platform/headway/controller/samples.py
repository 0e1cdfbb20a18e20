"""Job files that ship with the package: `headway run minilm-docs` works outside a checkout too."""

from __future__ import annotations

from pathlib import Path

import headway


def sample_folder() -> Path:
    """Where the sample jobs are: inside an installed package, or `jobs/` of a checkout."""
    package = Path(headway.__file__).parent
    installed = package / "samples" / "jobs"
    return installed if installed.is_dir() else package.parents[1] / "jobs"


def sample_names() -> list[str]:
    """The names of the sample jobs."""
    return sorted(path.stem for path in sample_folder().glob("*.yaml"))


def resolve_job(job: Path) -> Path:
    """The file itself, or the sample of that name when there is no such file."""
    if not job.exists() and job.name == str(job) and str(job) in sample_names():
        return sample_folder() / f"{job}.yaml"
    return job
