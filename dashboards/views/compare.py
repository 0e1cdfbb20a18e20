"""The page of one run beside the same run elsewhere: what `headway compare` prints."""

import json
from html import escape

import streamlit as st

import context
import markup
from headway.reports.dashboard import Reader
from headway.reports.elsewhere import compare_view, refusal
from headway.runs.queries import get_run


def show(here: context.Context, reader: Reader) -> None:
    """Draw the comparison; where the command refuses, what it says."""
    say, place = reader.wording.say, reader.place
    with here.ledger.read() as connection:
        run = get_run(connection, place.run)
    st.title(say("dashboard.compare_of", run=run.id), anchor=False)
    with st.spinner(say("dashboard.planning")):
        code, document, error = context.printed(tuple(here.command), run.id, place.lang)
    if code:
        st.warning(refusal(code, error) or say("dashboard.compare_failed", code=code))
        return
    view = compare_view(json.loads(document), reader.wording)
    markup.draw(f"<p>{escape(view.note)}</p>{markup.table(view.sheet)}{markup.cell(view.basis, 'p')}")
    st.markdown(say("dashboard.same_command"))
    st.code(view.command, language="shell")
