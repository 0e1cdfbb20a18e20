"""How a run is asked to stop after a checkpoint, so that all ranks stop at the same step.

The supervisor puts `stop` into the attempt's control folder. Rank 0 sees it at the end of a step s and
names s+1 in `stop-at`, before it joins the gradient exchange of step s+1; so no rank can have finished
step s+1 without the file being there. No collective call is spent on this.
"""

from __future__ import annotations

from pathlib import Path

from headway.runs.environment import STOP_REQUEST

STEP = "stop-at"


class StopSignal:
    """One rank's view of the request."""

    def __init__(self, control: Path | None, rank: int) -> None:
        self._control = control
        self._leads = rank == 0

    def reached(self, step: int) -> bool:
        """Whether to stop now, after this step; rank 0 also passes the request on."""
        if self._control is None:
            return False
        target = self._control / STEP
        if target.exists():
            return step >= int(target.read_text(encoding="ascii"))
        if self._leads and (self._control / STOP_REQUEST).exists():
            draft = self._control / f"{STEP}.draft"
            draft.write_text(str(step + 1), encoding="ascii")
            draft.rename(target)
        return False
