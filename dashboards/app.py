"""The dashboard's entry: the bar of pages, languages and currencies, then the page that the address names."""

import os
from html import escape

import streamlit as st

import context
import markup
from headway.errors import HeadwayError
from headway.messages import languages
from headway.reports.dashboard import Reader
from views import compare, run, runs

VIEWS = {"runs": runs.show, "run": run.show, "compare": compare.show}


def bar(reader: Reader) -> None:
    """Links to the pages, the languages and the currencies; each keeps the rest of the address."""
    say, place = reader.wording.say, reader.place
    names = ["runs", *(["run", "compare"] if place.run else [])]

    def choices(label: str, pairs: list[tuple[str, str, bool]]) -> str:
        links = [f'<b aria-current="true">{escape(text)}</b>' if here else markup.link(text, href)
                 for text, href, here in pairs]  # fmt: skip
        return f'<nav aria-label="{escape(say(label))}">{"".join(links)}</nav>'

    pages = [(say(f"dashboard.{name}"), place.to(page=name), name == place.page) for name in names]
    tongues = [
        (say(f"dashboard.lang_{name}"), place.to(lang=name), name == place.lang) for name in languages()
    ]
    parts = [choices("dashboard.pages", pages), choices("dashboard.language", tongues)]
    if reader.rates.currencies:
        codes = ["", *reader.rates.currencies]
        parts.append(
            choices(
                "dashboard.currency",
                [
                    (code or say("dashboard.own_currency"), place.to(currency=code), code == place.currency)
                    for code in codes
                ],
            )
        )
    gap = "display:flex;flex-wrap:wrap;gap:.5rem 2.5rem;justify-content:space-between"
    markup.draw(f'<div style="{gap}">{"".join(parts)}</div>')


def main() -> None:
    """Draw the page."""
    st.set_page_config(page_title="Headway", layout="wide", initial_sidebar_state="collapsed")
    here = context.load(os.environ[context.VARIABLE])
    reader = context.reader(here)
    st.html(
        f'{markup.STYLE}<script>document.documentElement.lang="{reader.place.lang}"</script>',
        unsafe_allow_javascript=True,
    )
    bar(reader)
    try:
        VIEWS[reader.place.page](here, reader)
    except HeadwayError as error:
        st.error(reader.wording.say(error.message, **error.values))
        hint = reader.wording.maybe(f"hint.{error.message}", "")
        if hint:
            st.info(hint)


main()
