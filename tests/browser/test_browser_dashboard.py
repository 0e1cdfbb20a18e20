"""What a reader sees: the command line's total, links that restore, French without English, no barriers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headway.messages import catalogue

SCREENSHOT = Path(__file__).parents[2] / "docs" / "images" / "dashboard-run.png"
WRITE = os.environ.get("HEADWAY_WRITE_SCREENSHOTS") == "1"  # read before the fixture clears our variables
PAGES = ("runs", "run", "compare")
# A quotation (a price's source) names its language; the rest of the page speaks the reader's.
OURS = """() => {
  const copy = document.querySelector('[data-testid="stMain"]').cloneNode(true);
  copy.querySelectorAll('[lang=en], nav, code, svg, canvas, style, script').forEach(node => node.remove());
  return copy.textContent;
}"""


def open_page(tab, url, **query):
    words = "&".join(f"{name}={value}" for name, value in query.items())
    tab.goto(f"{url}/?{words}")
    tab.wait_for_selector(".hw table")
    tab.wait_for_function("!document.querySelector('[data-testid=\"stSpinner\"]')")


def total_of(run_id):
    command = [sys.executable, "-m", "headway.cli.main", "receipt", run_id, "-o", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["totals"][0]["amount"]


def test_the_total_on_the_page_is_the_command_lines_and_the_chart_is_drawn(page, served):
    url, run_id = served
    open_page(page, url, page="run", run=run_id)
    shown = page.locator(".hw table").first.locator("tr").last.locator("td").last.inner_text()
    assert shown == f"{total_of(run_id)}\u00a0USD"
    page.wait_for_selector('[data-testid="stVegaLiteChart"] canvas, [data-testid="stVegaLiteChart"] svg')
    page.wait_for_timeout(500)
    if WRITE:
        page.set_viewport_size({"width": 1280, "height": 1900})
        page.wait_for_timeout(1500)
        SCREENSHOT.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOT)


def test_a_link_restores_the_view_and_a_choice_goes_into_the_address(page, served):
    url, run_id = served
    open_page(page, url, page="runs", lang="fr")
    page.get_by_role("link", name=run_id).click()
    page.wait_for_selector(f"h1:has-text('Reçu de {run_id}')")
    page.get_by_role("link", name="EUR", exact=True).click()
    page.wait_for_selector("text=au taux du 02/01/2025")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("text=au taux du 02/01/2025")
    assert page.locator("h1").inner_text() == f"Reçu de {run_id}"
    open_page(page, url, page="runs")
    page.get_by_role("combobox").last.click()
    page.get_by_role("option", name="succeeded").click()
    page.wait_for_url(re.compile("state=SUCCEEDED"))


@pytest.mark.parametrize("name", PAGES)
def test_a_french_page_has_no_english(page, served, name):
    url, run_id = served
    open_page(page, url, page=name, run=run_id, lang="fr", currency="EUR")
    said = page.evaluate(OURS)
    english, french = catalogue("en"), catalogue("fr")
    tables = (
        "dashboard.",
        "receipt.",
        "state.",
        "waste.",
        "verdict.",
        "compare.",
        "plan.",
        "method.",
        "metric.",
    )
    words = set()
    for message, template in english.items():
        if message.startswith(tables) and french.get(message) != template:
            words.update(part.strip() for part in re.split(r"\{[^}]*\}", template) if len(part.strip()) > 4)
    kept = {part for text in french.values() for part in re.findall(r"\w+", text)}
    found = [word for word in words if re.search(rf"\b{re.escape(word)}\b", said) and word not in kept]
    assert found == []
    assert not re.search(r"\b(the|and|of|with|is|not|cost|price|step|held)\b", said), said
    assert page.evaluate("document.documentElement.lang") == "fr"


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(page, served, name):
    from axe_playwright_python.sync_playwright import Axe

    url, run_id = served
    open_page(page, url, page=name, run=run_id)
    found = Axe().run(page).response["violations"]
    serious = [
        (item["id"], [node["html"][:200] for node in item["nodes"]])
        for item in found
        if item["impact"] in {"serious", "critical"}
    ]
    assert serious == []


def test_the_address_is_this_machine_only(served):
    url, _run = served
    port = int(url.rsplit(":", 1)[1])
    sockets = Path("/proc/net/tcp").read_text().splitlines()
    bound = {line.split()[1] for line in sockets if line.split()[1].endswith(f":{port:04X}")}
    assert {name.split(":")[0] for name in bound} == {"0100007F"}
