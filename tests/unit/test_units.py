"""Quantities keep their value through parsing, adding and printing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError, UserError
from headway.units import (
    Money,
    format_amount,
    format_bytes,
    format_joules,
    format_seconds,
    parse_bytes,
    parse_joules,
    parse_number,
    parse_seconds,
    round_nano,
)

NANOS = st.integers(-(10**24), 10**24)
AMOUNTS = st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, allow_infinity=False)


@given(st.integers(0, 10**18))
def test_whole_bytes_round_trip(size):
    assert parse_bytes(str(size)) == parse_bytes(f"{size}B") == parse_bytes(f" {size} b ") == size


@given(st.integers(0, 10**6), st.sampled_from(["K", "M", "G", "T", "P"]))
def test_decimal_and_binary_units_differ(count, prefix):
    power = "KMGTP".index(prefix) + 1
    assert parse_bytes(f"{count}{prefix}B") == count * 1000**power
    assert parse_bytes(f"{count}{prefix}iB") == count * 1024**power


def test_a_gib_is_larger_than_a_gb():
    assert parse_bytes("1GiB") - parse_bytes("1GB") == 73_741_824
    assert parse_bytes("1.5KiB") == 1536


@given(st.integers(2**10, 2**50))
def test_printed_bytes_are_within_their_last_digit(size):
    number, unit = format_bytes(size).split()
    factor = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
    assert abs(float(number) * factor - size) <= factor * 0.0501


@given(st.integers(0, 10**9))
def test_seconds_round_trip(seconds):
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    assert parse_seconds(f"{hours}h{minutes}m{left}s") == seconds
    assert parse_seconds(f"{seconds * 1000} ms") == seconds


@given(st.floats(0, 10**9))
def test_printed_seconds_have_a_unit(seconds):
    assert format_seconds(seconds)[-1] in "smhd"
    assert format_seconds(-1 - seconds).startswith("-")


@given(st.integers(0, 10**12))
def test_joules_round_trip(joules):
    assert parse_joules(f"{joules} J") == joules
    assert parse_joules(f"{joules} Wh") == joules * 3600
    assert format_joules(joules).split()[1] in {"J", "Wh", "kWh"}


@pytest.mark.parametrize(
    ("parse", "value"),
    [
        (parse_bytes, "12 bananas"),
        (parse_bytes, "-1GB"),
        (parse_bytes, "0.5B"),
        (parse_bytes, ""),
        (parse_bytes, "nan"),
        (parse_seconds, "24"),
        (parse_seconds, ""),
        (parse_seconds, "1h 30"),
        (parse_seconds, "-1h"),
        (parse_joules, "5"),
        (parse_joules, "-5 J"),
        (parse_number, "nan"),
        (parse_number, "inf"),
        (parse_number, "eight"),
        (Money.parse, "400"),
        (Money.parse, "$400"),
        (Money.parse, "400 DOLLARS"),
    ],
)
def test_what_is_no_quantity_is_refused(parse, value):
    with pytest.raises(UserError) as caught:
        parse(value)
    assert caught.value.exit_code == 2
    assert str(caught.value)


@given(NANOS, st.sampled_from(["USD", "EUR", "CHF"]))
def test_money_round_trips_through_nano(nano, currency):
    money = Money.from_nano(nano, currency)
    assert money.nano == nano
    assert Money.parse(f"{money.amount:f} {currency}") == money


@given(AMOUNTS)
def test_nano_rounds_once_and_half_to_even(amount):
    assert abs(Decimal(round_nano(amount)) - amount * 10**9) <= Decimal("0.5")


@pytest.mark.parametrize(("amount", "nano"), [("0.5", 0), ("1.5", 2), ("2.5", 2), ("-0.5", 0), ("-1.5", -2)])
def test_half_a_nano_goes_to_the_even_one(amount, nano):
    assert round_nano(Decimal(amount).scaleb(-9)) == nano


@given(st.lists(st.integers(-(10**15), 10**15), max_size=30))
def test_sums_are_exact(nanos):
    total = Money(Decimal(0), "USD")
    for nano in nanos:
        total += Money.from_nano(nano, "USD")
    assert total.nano == sum(nanos)
    assert (total - total).amount == 0


def test_currencies_are_never_mixed():
    dollars, euros = Money(Decimal(1), "USD"), Money(Decimal(1), "EUR")
    for mix in (lambda: dollars + euros, lambda: dollars - euros, lambda: dollars < euros):
        with pytest.raises(DataError) as caught:
            mix()
        assert "USD" in str(caught.value)
    assert dollars != euros


@pytest.mark.parametrize("currency", ["usd", "US", "USDT", "", "ÜSD"])
def test_a_currency_is_three_capital_letters(currency):
    with pytest.raises(UserError):
        Money(Decimal(1), currency)


def test_money_is_finite():
    for amount in ("NaN", "Infinity"):
        with pytest.raises(UserError):
            Money(Decimal(amount), "USD")


@given(AMOUNTS)
def test_a_printed_amount_never_hides_money(amount):
    printed = format_amount(amount)
    assert (printed.lstrip("-").strip("0.,") == "") == (amount == 0)
    if amount:
        assert abs(Decimal(printed.replace(",", "")) - amount) <= max(abs(amount) / 100, Decimal("5e-10"))


@pytest.mark.parametrize(
    ("amount", "printed"),
    [("0", "0.00"), ("0.0034", "0.003400"), ("1234.5", "1,234.50"), ("0.5", "0.5000"), ("1e-12", "1.00e-12")],
)
def test_amounts_as_printed(amount, printed):
    assert format_amount(Decimal(amount)) == printed
