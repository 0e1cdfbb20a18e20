"""The page of runs: newest first, by team and state, each with what it cost."""

from html import escape

import streamlit as st

import markup
from context import STATES, Context
from headway.reports.dashboard import PAGE_SIZE, Reader, runs_view
from headway.runs.receipts import page_of_runs


def show(context: Context, reader: Reader) -> None:
    """Draw one page of the list."""
    place, say = reader.place, reader.wording.say
    with context.ledger.read() as connection:
        page = page_of_runs(
            connection,
            context.tariff,
            team=place.team,
            state=place.state,
            limit=PAGE_SIZE,
            offset=(place.n - 1) * PAGE_SIZE,
        )
    view = runs_view(page, reader)
    st.title(view.title, anchor=False)
    if page.in_ledger:
        _filters(page.teams, reader)
    markup.draw(f"<p>{escape(view.note)}</p>" + (markup.table(view.sheet) if view.sheet else ""))
    if not page.in_ledger:
        st.code("headway run minilm-docs", language="shell")
    steps = [("dashboard.previous", view.previous), ("dashboard.following", view.following)]
    links = "".join(markup.link(say(name), href) for name, href in steps if href)
    if links:
        markup.draw(f'<nav aria-label="{escape(say("dashboard.list_pages"))}">{links}</nav>')


def _filters(teams: tuple[str, ...], reader: Reader) -> None:
    say, place = reader.wording.say, reader.place
    left, right, _rest = st.columns([1, 1, 2])
    options = ["", *teams, *([place.team] if place.team and place.team not in teams else [])]
    with left:
        _filter(
            "team", say("dashboard.head_team"), options, place.team, lambda name: name or say("dashboard.all")
        )
    with right:
        _filter(
            "state",
            say("dashboard.head_state"),
            ["", *STATES],
            place.state,
            lambda name: say(f"state.{name}") if name else say("dashboard.all"),
        )


def _filter(name: str, label: str, options: list[str], chosen: str, shown) -> None:  # noqa: ANN001 - a function of text
    def changed() -> None:
        st.query_params.pop("n", None)
        st.query_params[name] = st.session_state[key]
        if not st.session_state[key]:
            del st.query_params[name]

    key = f"filter-{name}"
    st.selectbox(label, options, options.index(chosen), format_func=shown, key=key, on_change=changed)
