"""The controller: one loop that brings every run nearer to its end, and can be killed at any point of it.

What it knows is in the ledger and on the machines; each step looks again. One controller works at a time:
a second one waits for the first one's lock.
"""

from __future__ import annotations

import fcntl
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from headway.errors import ExternalError, HeadwayError
from headway.settings import Settings

STEP_SECONDS = 0.25
LONGEST_WAIT_SECONDS = 30.0
_LOG = logging.getLogger(__name__)


class Step(Protocol):
    """A part of the loop: does what is to be done now, and returns."""

    def step(self) -> object:
        """Look and act once."""
        ...


class Controller:
    """Runs its steps one after the other; a step that fails is tried again, later and later."""

    def __init__(self, steps: Sequence[Step], clock: Callable[[], float] = time.monotonic) -> None:
        self._steps = list(steps)
        self._clock = clock
        self._failures: dict[int, tuple[int, float]] = {}
        self.stopping = False

    def once(self) -> None:
        """Every step once, those left out that failed a moment ago."""
        for number, step in enumerate(self._steps):
            count, until = self._failures.get(number, (0, 0.0))
            if self._clock() < until:
                continue
            try:
                step.step()
            except (HeadwayError, OSError) as error:
                wait = min(LONGEST_WAIT_SECONDS, STEP_SECONDS * 2 ** min(count + 1, 20))
                self._failures[number] = (count + 1, self._clock() + wait)
                _LOG.warning("%s: %s; again in %.1f s", type(step).__name__, error, wait)
            else:
                self._failures.pop(number, None)

    def run(self) -> None:
        """Until `stopping` is set."""
        while not self.stopping:
            self.once()
            time.sleep(STEP_SECONDS)


def lead(settings: Settings, wait: Callable[[], bool]) -> object:
    """Become the one controller of this home; `wait` is asked between tries and says whether to go on.

    Gives what must be kept for as long as the controller leads.

    Raises:
        ExternalError: `wait` said no.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    lock = (settings.home / "controller.lock").open("ab")
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if not wait():
                lock.close()
                raise ExternalError("controller.another") from None
        else:
            return lock
