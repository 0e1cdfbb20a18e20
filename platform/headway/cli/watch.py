"""Watching a run from a terminal: one line while it trains, then its receipt; Ctrl-C stops it cleanly."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from headway.cli.receipt import receipt_text
from headway.cli.render import is_terminal, say
from headway.cli.session import Session
from headway.controller.figures import figures_of
from headway.controller.reaper import reap
from headway.controller.receipts import live_of, receipt_of
from headway.controller.submit import request_stop
from headway.errors import RunFailedError, RunStoppedError
from headway.messages import text
from headway.reports.live import live_line
from headway.runs import queries
from headway.runs.rows import RunRow
from headway.runs.states import RunState

REFRESH_SECONDS = 0.5
PLAIN_SECONDS = 10.0


class Interrupts:
    """Counts Ctrl-C: the first asks for a stop after a checkpoint, the second for a stop at once."""

    def __init__(self, stop: Callable[[str], None], run_id: str) -> None:
        self._stop = stop
        self._run_id = run_id
        self.count = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Handle one Ctrl-C."""
        self.count += 1
        if self.count == 1:
            say("\n" + text("watch.stopping", run=self._run_id))
            self._stop("checkpoint")
        else:
            say("\n" + text("watch.stopping_now", run=self._run_id))
            self._stop("now")


@contextmanager
def _handling(handler: Interrupts) -> Generator[None]:
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def watch(where: Session, run_id: str) -> RunRow:
    """Show the run until it ends; gives its last row."""
    handler = Interrupts(lambda mode: request_stop(where.ledger, run_id, mode), run_id)
    figures = figures_of(where.settings)
    animated = is_terminal()
    shown_at, shown = 0.0, ""
    with _handling(handler):
        while True:
            reap(where.settings, where.ledger)
            with where.ledger.read() as connection:
                live = live_of(connection, run_id, figures)
            line = live_line(live, with_bar=animated)
            now = time.monotonic()
            if animated:
                sys.stderr.write(f"\r\x1b[2K{line[: _width()]}")
                sys.stderr.flush()
            elif line != shown and (now - shown_at >= PLAIN_SECONDS or not shown):
                say(line)
                shown_at, shown = now, line
            if live.run.state.is_terminal:
                if animated:
                    sys.stderr.write("\n")
                return live.run
            time.sleep(REFRESH_SECONDS)


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((100, 24)).columns - 1


def conclude(where: Session, run: RunRow) -> None:
    """Print the receipt and how to go on; a run that did not succeed ends the command with its exit code."""
    with where.ledger.read() as connection:
        receipt = receipt_of(connection, run.id, figures_of(where.settings))
        attempts = queries.attempts(connection, run.id)
        saved = queries.checkpoints(connection, run.id)
    sys.stdout.write(receipt_text(receipt) + "\n")
    if run.state is RunState.SUCCEEDED:
        return
    number = attempts[-1].n if attempts else 1
    if run.state is RunState.FAILED:
        raise RunFailedError(
            "run.failed" if saved else "run.failed_unsaved",
            run=run.id,
            failure=run.failure_class,
            reason=run.reason,
            attempt=number,
        )
    raise RunStoppedError("run.stopped" if saved else "run.stopped_unsaved", run=run.id, reason=run.reason)
