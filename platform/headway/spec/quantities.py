"""The kinds of figure that a job or sites file holds: counts, sizes, durations, money, times of day.

Each is a pydantic annotation that refuses with one of our own message ids, and prints back to what a
file may say, so that a spec survives a trip through JSON.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, LiteralString, TypeVar, cast

from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema

from headway.errors import UserError
from headway.spec.bounds import BOUNDS
from headway.spec.parts import fault
from headway.spec.problems import show
from headway.units import Money, format_amount, format_bytes, format_seconds, parse_bytes, parse_seconds

# Longer than any honest quantity. Without the second bound, `1e999999999GB` would be multiplied out.
_QUANTITY_CHARACTERS = 40
_ENDLESS_EXPONENT = re.compile(r"[eE][-+]?\d{4}")
_SPAN = re.compile(r"(\d{1,9})\s*\.\.\s*(\d{1,9})", re.ASCII)
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)|24:00", re.ASCII)


Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Span:
    """A count that may be any from `min` to `max`, both included."""

    min: int
    max: int

    def __str__(self) -> str:
        return str(self.min) if self.min == self.max else f"{self.min}..{self.max}"


def _written(value: Decimal, unit: str) -> str:
    if unit == "bytes":
        return format_bytes(float(value))
    if unit == "seconds":
        return format_seconds(float(value))
    return format_amount(value) if unit == "money" else f"{value:,f}"


def check(value: object, figure: Decimal, key: str) -> None:
    """Refuse a figure outside of its row of BOUNDS; `value` is what the message shows."""
    bound = BOUNDS[key]
    if figure < bound.low:
        raise fault("spec.too_small", value=show(value), limit=_written(bound.low, bound.unit))
    if figure > bound.high:
        raise fault("spec.too_large", value=show(value), limit=_written(bound.high, bound.unit))


def within(key: str) -> object:
    """Numeric bounds from BOUNDS, which the JSON Schema states too."""
    bound = BOUNDS[key]
    whole = bound.low == bound.low.to_integral_value()
    low, high = int(bound.low) if whole else float(bound.low), int(bound.high)
    # Pydantic leaves the bounds of a value with a validator of its own out of the schema.
    return Field(ge=low, le=high, json_schema_extra={"minimum": low, "maximum": high})


def entries(key: str) -> object:
    """Bounds on how many characters a text, or how many entries a list or mapping, may have."""
    bound = BOUNDS[key]
    return Field(min_length=int(bound.low), max_length=int(bound.high))


def _whole(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise fault("spec.not_integer", value=show(value))
    return value


def _version(value: object) -> object:
    # Python takes true and 1.0 for 1.
    if type(value) is not int:
        raise fault("spec.version", value=show(value))
    return value


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fault("spec.not_number", value=show(value))
    return value


Version = Annotated[Literal[1], BeforeValidator(_version)]
Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(_number)]


def _quantity(value: object, parse: Callable[[str], Parsed], message: LiteralString) -> Parsed:
    if not isinstance(value, str):
        raise fault(message, value=show(value))
    if len(value) > _QUANTITY_CHARACTERS or _ENDLESS_EXPONENT.search(value):
        raise fault(message, value=show(value))
    try:
        return parse(value)
    except UserError as error:
        if error.message == "units.negative":
            raise fault("spec.negative", value=show(value)) from None
        raise fault(message, value=show(value)) from None


def byte_size(key: str) -> object:
    """Bytes from `120GB`, `80GiB` or a whole number of bytes, within a row of BOUNDS."""

    def validate(value: object) -> int:
        plain = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if isinstance(value, float) and value.is_integer():
            plain = str(int(value))
        found = _quantity(plain, parse_bytes, "spec.not_size")
        check(value, Decimal(found), key)
        return found

    return PlainValidator(validate, json_schema_input_type=Any)


def duration(key: str) -> object:
    """Seconds from `24h`, `1h30m`, within a row of BOUNDS."""

    def validate(value: object) -> Decimal:
        found = value if isinstance(value, Decimal) else _quantity(value, parse_seconds, "spec.not_duration")
        check(value, found, key)
        return found

    return PlainValidator(validate, json_schema_input_type=Any)


def money(key: str) -> object:
    """Money from `400 USD`, within a row of BOUNDS whatever the currency."""

    def validate(value: object) -> Money:
        found = value if isinstance(value, Money) else _quantity(value, Money.parse, "spec.not_money")
        check(str(value), found.amount, key)
        return found

    return PlainValidator(validate, json_schema_input_type=Any)


_NUMERAL = r"(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?"
Bytes = Annotated[
    int,
    WithJsonSchema(
        {
            "type": ["string", "integer"],
            "minimum": 0,
            "pattern": rf"^\s*\+?{_NUMERAL}\s*([kKmMgGtTpP][iI]?)?[bB]?\s*$",
            "examples": ["120GB", "80GiB"],
        }
    ),
]
Seconds = Annotated[
    Decimal,
    PlainSerializer(lambda value: f"{value:f}s", return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*(\+?{_NUMERAL}\s*(ms|s|m|min|h|d|w)\s*)+$",
            "examples": ["90s", "15m", "24h", "1h30m"],
        }
    ),
]
Price = Annotated[
    Money,
    PlainSerializer(lambda value: f"{value.amount:f} {value.currency}", return_type=str),
    WithJsonSchema(
        {"type": "string", "pattern": rf"^\s*\+?{_NUMERAL}\s*[A-Za-z]{{3}}\s*$", "examples": ["400 USD"]}
    ),
]


def _span(value: object) -> Span:
    if isinstance(value, Span):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None and (isinstance(value, bool) or not isinstance(value, int)):
        raise fault("spec.not_gpus", value=show(value))
    low, high = (int(match[1]), int(match[2])) if match else (cast("int", value), cast("int", value))
    if low > high:
        raise fault("spec.span_backwards", value=show(value), low=low, high=high)
    check(value, Decimal(low), "needs.gpus")
    check(value, Decimal(high), "needs.gpus")
    return Span(low, high)


GpuSpan = Annotated[
    Span,
    PlainValidator(_span, json_schema_input_type=Any),
    PlainSerializer(lambda span: span.min if span.min == span.max else str(span), return_type=int | str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": int(BOUNDS["needs.gpus"].high)},
                {"type": "string", "pattern": r"^\s*\d{1,9}\s*\.\.\s*\d{1,9}\s*$"},
            ],
            "examples": [8, "4..8"],
        }
    ),
]


def _clock(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or _CLOCK.fullmatch(value) is None:
        raise fault("spec.not_clock", value=show(value))
    hours, minutes = value.split(":")
    return int(hours) * 60 + int(minutes)


Clock = Annotated[
    int,
    PlainValidator(_clock, json_schema_input_type=Any),
    PlainSerializer(lambda minutes: f"{minutes // 60:02d}:{minutes % 60:02d}", return_type=str),
    WithJsonSchema(
        {"type": "string", "pattern": r"^(([01]\d|2[0-3]):[0-5]\d|24:00)$", "examples": ["07:00"]}
    ),
]
