"""PURE. Texts, amounts, numbers and times as one language writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from headway.messages import find_in, text_in
from headway.units import Money, format_amount, format_joules, format_seconds

_NARROW = "\u202f"  # the narrow no-break space that French puts between thousands and before %
_FRENCH = str.maketrans({",": _NARROW, ".": ","})


@dataclass(frozen=True, slots=True)
class Wording:
    """How one language says things; all that a page shows goes through it."""

    language: str

    def say(self, message: str, /, **values: object) -> str:
        """A text by its id."""
        return text_in(self.language, message, **values)

    def maybe(self, message: str, fallback: str) -> str:
        """A text by its id, or the fallback where no catalogue has it (names that users make up)."""
        return find_in(self.language, message) or fallback

    def unknown(self, reason: str) -> str:
        """What stands where a figure is not known: never 0, always the reason (a message id)."""
        return self.say("dashboard.unknown", reason=self.say(reason))

    def numeral(self, english: str) -> str:
        """A number written the English way (1,234.5), as this language writes it."""
        return english.translate(_FRENCH) if self.language == "fr" else english

    def number(self, value: float | Decimal, digits: int = 3) -> str:
        """A number with so many significant digits, without an exponent where that stays readable."""
        return self.numeral(f"{float(value):,.{digits}g}" if abs(value) < 1000 else f"{float(value):,.0f}")

    def percent(self, share: float) -> str:
        """A share of 0 to 1."""
        return self.numeral(f"{share * 100:.1f}") + (f"{_NARROW}%" if self.language == "fr" else "%")

    def money(self, money: Money) -> str:
        """An amount with as many digits as it needs: 0.0034 never shows as 0.00."""
        return f"{self.numeral(format_amount(money.amount))}\u00a0{money.currency}"

    def exact(self, money: Money) -> str:
        """An amount to the nano-unit, as the ledger has it."""
        return f"{self.numeral(f'{money.amount:,.9f}')}\u00a0{money.currency}"

    def seconds(self, seconds: float) -> str:
        """A duration."""
        written = format_seconds(seconds)
        if self.language == "fr" and written.endswith(" d"):
            written = written[:-1] + "j"
        return self.numeral(written)

    def joules(self, joules: Decimal | float) -> str:
        """An energy."""
        return self.numeral(format_joules(float(joules)))

    def time(self, microseconds: int | None) -> str:
        """A moment, to the minute, in UTC."""
        if microseconds is None:
            return self.unknown("dashboard.not_ended")
        moment = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
        return moment.strftime("%d/%m/%Y %H:%M UTC" if self.language == "fr" else "%Y-%m-%d %H:%M UTC")

    def day(self, iso: str) -> str:
        """An ISO day."""
        year, month, day = iso[:10].split("-")
        return f"{day}/{month}/{year}" if self.language == "fr" else iso[:10]


def iso_day(microseconds: int) -> str:
    """A ledger time as an ISO day."""
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).date().isoformat()
