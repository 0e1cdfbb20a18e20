"""Quantities: bytes, seconds, joules and money, parsed and printed without loss.

Inside the product everything is in base units (bytes, seconds, joules); names carry the unit.
1 GB is 10^9 bytes and 1 GiB is 2^30; the printer always says which. Money is a Decimal with an ISO
4217 code; adding two currencies raises. Amounts are kept as integer nano-units (`amount_nano`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext

from headway.errors import DataError, UserError

NANO = Decimal(1_000_000_000)
LARGEST_EXPONENT = 30  # no quantity of ours comes near; beyond it, exact arithmetic would take for ever
JOULES_PER_KWH = Decimal(3_600_000)
MICROSECONDS_PER_HOUR = Decimal(3_600_000_000)

_DECIMAL_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}
_BINARY_BYTES = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "PIB": 2**50}
_SECONDS = {"ms": Decimal("0.001"), "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_JOULES = {"J": 1, "kJ": 1000, "MJ": 10**6, "Wh": 3600, "kWh": 3_600_000, "MWh": 3_600_000_000}
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]*)\s*")
_DURATION = re.compile(rf"({_NUMBER})\s*([A-Za-z]+)\s*")
_MONEY = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]{{3}})\s*")


def parse_number(value: str) -> Decimal:
    """A finite decimal number; raises UserError on anything else, NaN and infinity included."""
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        raise UserError("units.not_a_number", value=value) from None
    if not number.is_finite():
        raise UserError("units.not_finite", value=value)
    if number and abs(number.adjusted()) > LARGEST_EXPONENT:
        raise UserError("units.absurd", value=value)
    return number


def _split(value: str, kind: str) -> tuple[Decimal, str]:
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise UserError(f"units.bad_{kind}", value=value)
    number = parse_number(match[1])
    if number < 0:
        raise UserError("units.negative", value=value)
    return number, match[2]


def parse_bytes(value: str) -> int:
    """Bytes from `120GB`, `80 GiB`, `512`; a unit is needed above 0 unless the number is whole.

    >>> parse_bytes("1GiB") - parse_bytes("1GB")
    73741824
    """
    number, unit = _split(value, "bytes")
    factor = {**_DECIMAL_BYTES, **_BINARY_BYTES, "": 1}.get(unit.upper())
    if factor is None:
        raise UserError("units.bad_bytes", value=value)
    result = number * factor
    if result != result.to_integral_value():
        raise UserError("units.partial_byte", value=value)
    return int(result)


def format_bytes(size_bytes: float) -> str:
    """Bytes in binary units with three significant digits.

    >>> format_bytes(25.2 * 2**30)
    '25.2 GiB'
    """
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size_bytes) >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes:.0f} B"


def parse_seconds(value: str) -> Decimal:
    """Seconds from `24h`, `1h30m`, `90 s`, `2d`; a bare number is refused, its unit being a guess.

    >>> parse_seconds("1h30m")
    Decimal('5400')
    """
    total, position = Decimal(0), 0
    stripped = value.strip()
    while position < len(stripped):
        match = _DURATION.match(stripped, position)
        factor = _SECONDS.get(match[2]) if match else None
        if match is None or factor is None:
            raise UserError("units.bad_seconds", value=value)
        number = parse_number(match[1])
        if number < 0:
            raise UserError("units.negative", value=value)
        total += number * factor
        position = match.end()
    if not stripped:
        raise UserError("units.bad_seconds", value=value)
    return total


def format_seconds(seconds: float) -> str:
    """A duration a person reads: `48 s`, `1m 12s`, `10.4 h`, `3.2 d`."""
    if seconds < 0:
        return f"-{format_seconds(-seconds)}"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)}m {int(seconds % 60):02d}s"
    if seconds < 86400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} d"


def parse_joules(value: str) -> Decimal:
    """Joules from `2289 J`, `1.5 kWh`; a unit is needed."""
    number, unit = _split(value, "joules")
    factor = _JOULES.get(unit)
    if factor is None:
        raise UserError("units.bad_joules", value=value)
    return number * factor


def format_joules(joules: float) -> str:
    """Joules up to 10 kJ, then Wh or kWh: what each reader knows."""
    if joules < 10_000:
        return f"{joules:,.1f} J" if joules < 100 else f"{joules:,.0f} J"
    if joules < 3_600_000:
        return f"{joules / 3600:,.1f} Wh"
    return f"{joules / 3_600_000:,.1f} kWh"


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in one currency."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not (len(self.currency) == 3 and self.currency.isascii() and self.currency.isupper()):
            raise UserError("units.bad_currency", value=self.currency)
        if not self.amount.is_finite():
            raise UserError("units.not_finite", value=str(self.amount))

    @classmethod
    def parse(cls, value: str) -> Money:
        """Money from `400 USD`; the currency is never guessed."""
        match = _MONEY.fullmatch(value)
        if match is None:
            raise UserError("units.bad_money", value=value)
        return cls(parse_number(match[1]), match[2].upper())

    @classmethod
    def from_nano(cls, amount_nano: int, currency: str) -> Money:
        """Money from integer nano-units, as the ledger stores it."""
        return cls(Decimal(amount_nano) / NANO, currency)

    @property
    def nano(self) -> int:
        """The amount in nano-units, rounded half-even once."""
        return round_nano(self.amount)

    def _same(self, other: Money) -> None:
        if other.currency != self.currency:
            raise DataError("units.currency_mismatch", left=self.currency, right=other.currency)

    def __add__(self, other: Money) -> Money:
        self._same(other)
        return Money(self.amount + other.amount, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._same(other)
        return Money(self.amount - other.amount, self.currency)

    def __lt__(self, other: Money) -> bool:
        self._same(other)
        return self.amount < other.amount

    def __str__(self) -> str:
        return f"{format_amount(self.amount)} {self.currency}"


def round_nano(amount: Decimal) -> int:
    """Nano-units of an amount: the one rounding (half-even) that a cost line has."""
    with localcontext() as context:
        context.prec = 60
        return int((amount * NANO).to_integral_value(rounding=ROUND_HALF_EVEN))


def format_amount(amount: Decimal) -> str:
    """An amount with as many digits as it needs to say something: 0.0034 never prints as 0.00.

    >>> format_amount(Decimal("0.003334")), format_amount(Decimal("1234.5"))
    ('0.003334', '1,234.50')
    """
    magnitude = abs(amount)
    if magnitude == 0:
        return "0.00"
    if magnitude >= 1:
        return f"{amount:,.2f}"
    digits = min(9, max(2, -magnitude.adjusted() + 3))
    rounded = round(amount, digits)
    return f"{rounded:,.{digits}f}" if rounded else f"{amount:.2e}"
