"""The page of one run: its receipt, line by line, with the prices that it rests on."""

from html import escape

import streamlit as st

import markup
from context import Context
from headway.reports.dashboard import Reader, run_view
from headway.reports.receipt import receipt_from
from headway.runs.receipts import account_of


def show(context: Context, reader: Reader) -> None:
    """Draw the receipt."""
    say = reader.wording.say
    with context.ledger.read() as connection:
        account = account_of(connection, reader.place.run, context.tariff)
    view = run_view(receipt_from(account, context.grid), reader)
    st.title(view.title, anchor=False)
    totals = "".join(f'<p class="total">{escape(total)}</p>' for total in view.totals)
    markup.draw(f'{totals}<p><span class="chip">{escape(view.chip)}</span></p>{markup.facts(view.facts)}')
    for waterfall in view.waterfalls:
        st.vega_lite_chart(waterfall.chart, alt=waterfall.alt)
        markup.draw(f"<p>{escape(waterfall.alt)}</p>")
    for sheet in view.sheets:
        markup.draw(markup.table(sheet))
    st.markdown(say("dashboard.same_command"))
    st.code(view.command, language="shell")
