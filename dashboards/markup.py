"""View models as HTML: tables, links and facts that a screen reader understands."""

from html import escape

import streamlit as st

from headway.reports.dashboard import Cell, Sheet

STYLE = """<style>
.hw {overflow-x:auto; font-variant-numeric:tabular-nums}
.hw table {border-collapse:collapse; width:100%; margin:.2rem 0 1rem}
.hw caption {text-align:left; font-weight:600; padding:.4rem 0}
.hw th, .hw td {text-align:left; padding:.3rem .7rem .3rem 0; border-bottom:1px solid #8886}
.hw .r {text-align:right} .hw a {text-decoration:underline} .hw .nowrap {white-space:nowrap}
.hw nav a, .hw nav b {margin-right:1rem} .hw dt {font-weight:600} .hw dd {margin:0; padding:0}
.hw dl {margin:0; padding:0; display:grid; grid-template-columns:max-content 1fr; gap:.2rem 1.2rem}
.hw .total {font-size:1.9rem; font-weight:600; margin:0}
.hw .chip {border:1px solid currentColor; border-radius:1rem; padding:.1rem .7rem; font-size:.9rem}
</style>"""


def draw(html: str) -> None:
    """Put HTML on the page."""
    st.html(f'<div class="hw">{html}</div>')


def link(text: str, href: str) -> str:
    """A link that stays in this window."""
    return f'<a href="{escape(href)}">{escape(text)}</a>'


def cell(item: Cell, kind: str = "td", side: str = "") -> str:
    """One cell; a quotation names its language."""
    lang = f' lang="{escape(item.lang)}"' if item.lang else ""
    inside = link(item.text, item.href) if item.href else escape(item.text)
    return f"<{kind}{side}{lang}>{inside}</{kind}>"


def table(sheet: Sheet) -> str:
    """A table with its caption and heads; it can be reached and scrolled by keyboard."""
    sides = [' class="r nowrap"' if index in sheet.right else "" for index in range(len(sheet.head))]
    heads = "".join(
        f'<th scope="col"{side}>{escape(name)}</th>' for name, side in zip(sheet.head, sides, strict=True)
    )
    rows = "".join(
        "<tr>" + "".join(cell(item, side=side) for item, side in zip(row, sides, strict=True)) + "</tr>"
        for row in sheet.rows
    )
    name = escape(sheet.caption)
    return (
        f'<div role="region" tabindex="0" aria-label="{name}" style="overflow-x:auto"><table>'
        f"<caption>{name}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def facts(pairs: tuple[tuple[str, str], ...]) -> str:
    """Names with their values."""
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
    return f"<dl>{inside}</dl>"
