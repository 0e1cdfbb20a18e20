"""PURE. The one line that a run shows while it trains."""

from __future__ import annotations

from dataclasses import dataclass

from headway.messages import text
from headway.runs.rows import ProgressRow, RunRow
from headway.units import Money, format_seconds

_BAR = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Live:
    """What is known of a run right now; None is unknown, and not shown."""

    run: RunRow
    progress: ProgressRow | None
    steps: int | None
    samples_per_second: float | None
    steps_per_second: float | None
    joules_per_sample: float | None
    cost: Money | None


def bar(share: float, width: int = 22) -> str:
    """A bar of eighths of a character.

    >>> bar(0.5, 4)
    '▕██  ▏'
    """
    eighths = int(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_BAR[rest] if rest else "")
    return f"▕{drawn:<{width}}▏"


def live_line(live: Live, *, with_bar: bool) -> str:
    """The line; a run that does not train yet shows its state and why it waits."""
    run, progress = live.run, live.progress
    parts = [run.id]
    if progress is None:
        parts.append(text(f"state.{run.state.value}"))
        if run.reason:
            parts.append(text(run.reason) if run.reason.startswith("queue.") else run.reason)
    else:
        parts.extend(_progress_parts(live, progress, with_bar=with_bar))
    if live.cost is not None:
        parts.append(text("live.cost" if not run.state.is_terminal else "live.cost_in_all", cost=live.cost))
    eta = _eta_seconds(live)
    if eta is not None and not run.state.is_terminal:
        parts.append(text("live.eta", eta=format_seconds(eta)))
    return "  ".join(parts)


def _progress_parts(live: Live, progress: ProgressRow, *, with_bar: bool) -> list[str]:
    parts: list[str] = []
    if live.steps:
        share = progress.step / live.steps
        parts.append(f"{bar(share) if with_bar else ''} {share:.0%}".strip())
        parts.append(text("live.step_of", step=progress.step, steps=live.steps))
    else:
        parts.append(text("live.step", step=progress.step))
    if progress.loss is not None:
        parts.append(text("live.loss", loss=f"{progress.loss:.3g}"))
    if live.samples_per_second is not None and not live.run.state.is_terminal:
        parts.append(text("live.rate", rate=f"{live.samples_per_second:.3g}"))
    if live.joules_per_sample is not None:
        parts.append(text("live.joules", joules=f"{live.joules_per_sample:.2g}"))
    return parts


def _eta_seconds(live: Live) -> float | None:
    if live.progress is None or not live.steps or not live.steps_per_second:
        return None
    return max(0, live.steps - live.progress.step) / live.steps_per_second
