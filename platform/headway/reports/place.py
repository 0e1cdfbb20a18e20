"""PURE. Where a reader is in the dashboard: all of it stands in the address, so that a link restores it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlencode

PAGES = ("runs", "run", "compare")


@dataclass(frozen=True, slots=True)
class Place:
    """A page, what it shows, and how; `n` counts the pages of the list of runs from 1."""

    page: str = "runs"
    run: str = ""
    lang: str = "en"
    currency: str = ""
    team: str = ""
    state: str = ""
    n: int = 1

    @classmethod
    def read(
        cls,
        query: Mapping[str, str],
        *,
        languages: Sequence[str],
        currencies: Sequence[str],
        states: Sequence[str],
        default: str,
    ) -> Place:
        """The place that an address names; what it says that is not known is left out."""
        page, lang = query.get("page", ""), query.get("lang", "")
        currency, state = query.get("currency", "").upper(), query.get("state", "").upper()
        number = query.get("n", "")
        return cls(
            page=page if page in PAGES else "runs",
            run=query.get("run", ""),
            lang=lang if lang in languages else default,
            currency=currency if currency in currencies else "",
            team=query.get("team", ""),
            state=state if state in states else "",
            n=max(1, int(number)) if number.isdecimal() and len(number) < 9 else 1,
        )

    def to(self, **changes: str | int) -> str:
        """The address of a place that differs from this one by `changes`."""
        there = replace(self, **changes)
        return "?" + urlencode({name: value for name, value in asdict(there).items() if value not in {"", 1}})
