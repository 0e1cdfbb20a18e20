"""Where a job's entrypoint runs."""

from __future__ import annotations

import shlex
from pathlib import Path

from headway.errors import UserError


def find_workdir(entrypoint: str, job_file: Path, here: Path) -> tuple[Path, Path | None]:
    """Where the entrypoint runs, and the script it names, if it names one.

    The script is looked for from where the command was given, then beside the job file, then one folder
    above it.

    Raises:
        UserError: the entrypoint names a Python script that is in none of these places.
    """
    words = shlex.split(entrypoint)
    script = next((word for word in words if word.endswith(".py")), None)
    if script is None:
        return here, None
    beside = job_file.absolute().parent
    places = list(dict.fromkeys([here, beside, beside.parent]))
    for place in places:
        if (place / script).is_file():
            return place, (place / script).absolute()
    raise UserError("submit.no_script", script=script, places=", ".join(str(place) for place in places))
