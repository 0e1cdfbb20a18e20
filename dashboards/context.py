"""What `headway dashboard` hands to this process, and the ledger that it names."""

import json
import os
import subprocess
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import streamlit as st

from headway.messages import language, languages
from headway.reports.currency import RateTable, parse_rates
from headway.reports.dashboard import Reader
from headway.reports.place import Place
from headway.reports.receipt import GridFactor
from headway.reports.wording import Wording
from headway.runs.account import Tariff, tariff_from
from headway.runs.states import RunState
from headway.runs.store import Ledger

VARIABLE = "HEADWAY_DASHBOARD"
STATES = tuple(state.value for state in RunState)


@dataclass(frozen=True)
class Context:
    """The ledger and the figures that this process cannot work out itself."""

    ledger: Ledger
    tariff: Tariff
    grid: GridFactor
    rates: RateTable
    command: list[str]


@st.cache_resource(max_entries=4)
def load(path: str) -> Context:
    """Read the hand-over file and open its ledger, once."""
    given: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    grid = given["grid"]
    grams = grid["grams_per_kwh"]
    return Context(
        Ledger.at(Path(given["ledger"])),
        tariff_from(given["tariff"]),
        GridFactor(**{**grid, "grams_per_kwh": grams and Decimal(grams), "pue": Decimal(grid["pue"])}),
        parse_rates(given["rates"], given["rates_path"]) if given["rates"] else RateTable(),
        given["command"],
    )


def reader(context: Context) -> Reader:
    """Who reads, from the address of the page."""
    place = Place.read(
        st.query_params,
        languages=languages(),
        currencies=context.rates.currencies,
        states=STATES,
        default=language(),
    )
    return Reader(place, Wording(place.lang), context.rates)


@st.cache_data(ttl=60, max_entries=64, show_spinner=False)
def printed(command: tuple[str, ...], run: str, lang: str) -> tuple[int, str, str]:
    """What `headway compare RUN -o json` says: exit code, document, error."""
    done = subprocess.run(
        [*command, "compare", run, "-o", "json"],
        env={**os.environ, "HEADWAY_LANG": lang},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
