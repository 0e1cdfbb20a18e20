"""Whether the priors' width is right, judged by families that had no part in choosing it.

For each family of a source, the width that predicts the other families best (leaving each of them out in
turn) is used for it. If the nested error is near the plain one, nothing was tuned to the families at hand.
"""

from __future__ import annotations

from cases import Case, Outcome, fit_on, left_out, outcome, percent

WIDTHS = (0.5, 1.0, 2.0)


def nested(everything: list[Case]) -> tuple[list[Outcome], dict[str, float]]:
    found: list[Outcome] = []
    widths: dict[str, float] = {}
    for family in sorted({case.row.model for case in everything}):
        rest = [case for case in everything if case.row.model != family]
        scores = {
            width: percent(left_out(rest, lambda case: case.row.model, intervals=False, width=width))
            for width in WIDTHS
        }
        widths[family] = min(WIDTHS, key=lambda width: (scores[width], abs(width - 1.0)))
        model = fit_on(rest, intervals=False, width=widths[family])
        found += [outcome(case, model) for case in everything if case.row.model == family]
    return found, widths


def two_left_out(everything: list[Case]) -> list[Outcome]:
    """The smallest and the largest model, each with its neighbour unseen too: a step further out."""
    sizes = {case.row.model: case.row.parameters or 0.0 for case in everything}
    ordered = sorted(sizes, key=lambda model: sizes[model])
    found: list[Outcome] = []
    for target, neighbour in ((ordered[0], ordered[1]), (ordered[-1], ordered[-2])):
        model = fit_on((c for c in everything if c.row.model not in {target, neighbour}), intervals=False)
        found += [outcome(case, model) for case in everything if case.row.model == target]
    return found
