"""Prices of electricity: one price, or one for each part of the day."""

from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Discriminator, Field, Tag

from headway.messages import text
from headway.spec.parts import Found, Part, refuse
from headway.spec.quantities import Clock, Price, entries, money
from headway.units import Money

DAY_MINUTES = 24 * 60


class TariffWindow(Part):
    """The price per kWh from one time of day to another; it may pass midnight."""

    start: Clock = Field(alias="from")
    end: Clock = Field(alias="to")
    price: Annotated[Price, money("sites.tariff")]


class Stretch(NamedTuple):
    """A part of a day without a passage of midnight, in minutes; the end is not included."""

    start: int
    end: int
    price: Money


def _stretches(index: int, window: TariffWindow) -> list[tuple[int, int, int]]:
    start, end = window.start, window.end
    if start < end:
        return [(start, end, index)]
    return [part for part in ((0, end, index), (start, DAY_MINUTES, index)) if part[0] < part[1]]


def clock(minutes: int) -> str:
    """A time of day as a file writes it."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _whole_day(windows: tuple[TariffWindow, ...]) -> tuple[TariffWindow, ...]:
    found = [
        Found((index,), "spec.empty_window", {"time": clock(window.start)})
        for index, window in enumerate(windows)
        if window.start == window.end
    ]
    found.extend(
        Found(
            (index, "price"),
            "spec.other_currency",
            {"given": one.currency, "wanted": windows[0].price.currency},
        )
        for index, one in enumerate(window.price for window in windows)
        if one.currency != windows[0].price.currency
    )
    refuse(found)
    reached = 0
    for start, end, index in sorted(
        part for n, window in enumerate(windows) for part in _stretches(n, window)
    ):
        if start < reached:
            found.append(
                Found(
                    (index,), "spec.tariff_overlap", {"start": clock(start), "end": clock(min(reached, end))}
                )
            )
        elif start > reached:
            found.append(Found((), "spec.tariff_gap", {"start": clock(reached), "end": clock(start)}))
        reached = max(reached, end)
    if reached < DAY_MINUTES:
        found.append(Found((), "spec.tariff_gap", {"start": clock(reached), "end": "24:00"}))
    refuse(found)
    return windows


def _shape(value: object) -> str | None:
    if isinstance(value, str | Money):
        return "price"
    return "windows" if isinstance(value, list | tuple) else None


Tariff = Annotated[
    Annotated[Price, money("sites.tariff"), Tag("price")]
    | Annotated[
        tuple[TariffWindow, ...], entries("sites.tariff.windows"), AfterValidator(_whole_day), Tag("windows")
    ],
    Discriminator(
        _shape,
        custom_error_type="spec.not_tariff",
        custom_error_message=text("spec.not_tariff"),
    ),
]


def stretches(tariff: Money | tuple[TariffWindow, ...]) -> tuple[Stretch, ...]:
    """A tariff as stretches that cover one day from 00:00 to 24:00 in order."""
    if isinstance(tariff, Money):
        return (Stretch(0, DAY_MINUTES, tariff),)
    parts = sorted(part for index, window in enumerate(tariff) for part in _stretches(index, window))
    return tuple(Stretch(start, end, tariff[index].price) for start, end, index in parts)


def tariff_currency(tariff: Money | tuple[TariffWindow, ...]) -> str:
    """The one currency of a tariff."""
    return tariff.currency if isinstance(tariff, Money) else tariff[0].price.currency
