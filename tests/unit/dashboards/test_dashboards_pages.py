"""Each page with data, with nothing, and of a run that goes on; its total is the command line's."""

import importlib.util
import json
import re

import pytest
from click.testing import CliRunner

from headway.cli.main import cli

RATES = "date,base,quote,rate\n2020-01-01,EUR,USD,1.25\n2099-01-01,EUR,USD,9\n"


def html(app):
    return "\n".join(item.proto.body for item in app.get("html"))


def receipt(run_id):
    done = CliRunner().invoke(cli, ["receipt", run_id, "-o", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_an_empty_ledger_says_how_to_start(open_page):
    app = open_page()
    assert app.title[0].value == "Runs"
    assert "No runs yet" in html(app)
    assert app.code[0].value == "headway run minilm-docs"


def test_the_list_links_to_each_run_with_its_cost_and_status(open_page, finished_run):
    page = html(open_page())
    assert f'href="?page=run&amp;run={finished_run.run_id}&amp;lang=en"' in page
    assert "charged" in page
    assert "USD" in page
    assert "1 to 1 of 1" in page


def test_filters_come_from_the_address_and_change_it(open_page, finished_run):
    assert "No run matches" in html(open_page(team="nobody"))
    app = open_page(state="succeeded")
    assert app.selectbox(key="filter-state").value == "SUCCEEDED"
    app.selectbox(key="filter-state").select("FAILED").run()
    assert "No run matches" in html(app)


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_a_receipts_total_is_the_command_lines(open_page, finished_run, lang):
    app = open_page(page="run", run=finished_run.run_id, lang=lang)
    total = receipt(finished_run.run_id)["totals"][0]["amount"]
    shown = total.replace(".", ",") if lang == "fr" else total
    assert f"{shown}\u00a0USD" in html(app)
    assert app.code[0].value == f"headway receipt {finished_run.run_id}"


def test_a_run_that_goes_on_shows_what_it_has_cost_so_far(open_page, history):
    history.submit()
    history.open(1, 0)
    history.walk(0, "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    history.use(0, 40)
    total = receipt(history.run_id)["totals"][0]["amount"]
    app = open_page(page="run", run=history.run_id)
    assert f"{total}\u00a0USD" in html(app)
    assert '<span class="chip">so far</span>' in html(app)
    assert "n/a (not ended yet)" in html(app)
    assert ">so far</td>" in html(open_page())


def test_a_run_that_used_nothing_is_unknown_not_zero(open_page, history):
    history.submit()
    page = html(open_page(page="run", run=history.run_id))
    assert "n/a (nothing was used yet)" in page
    assert "0.00" not in page


def test_a_run_that_is_not_there_says_so_in_the_readers_language(open_page, finished_run):
    app = open_page(page="run", run="nothing", lang="fr")
    assert "aucune exécution" in app.error[0].value
    assert "headway ls" in app.info[0].value


def test_amounts_are_shown_in_another_currency_only_by_the_users_rates(open_page, finished_run):
    plain = html(open_page(page="run", run=finished_run.run_id, currency="EUR"))
    assert "EUR" not in plain
    page = html(open_page(RATES, page="run", run=finished_run.run_id, currency="EUR"))
    assert re.search(r"USD \(≈ [\d.]+\xa0EUR at the rate of 2020-01-01\)", page)
    assert "In EUR" in html(open_page(RATES, currency="EUR"))


def test_comparison_shows_what_the_command_says_when_it_refuses(open_page, history):
    history.submit(job={"version": 1, "name": "tiny", "entrypoint": "python tiny.py"})
    app = open_page(page="compare", run=history.run_id, lang="fr")
    assert "ne nomme aucun modèle" in app.warning[0].value
    assert "Traceback" not in app.warning[0].value


@pytest.mark.parametrize(("lang", "decimal"), [("en", "."), ("fr", ",")])
def test_comparison_puts_the_run_beside_itself_elsewhere(open_page, finished_run, lang, decimal):
    app = open_page(page="compare", run=finished_run.run_id, lang=lang)
    page = html(app)
    assert page.count("<tr>") > 5
    cost = re.search(r"0[.,]\d{4,}\xa0USD", page)[0]
    total = float(receipt(finished_run.run_id)["totals"][0]["amount"])
    assert float(cost.replace(decimal, ".").removesuffix("\xa0USD")) == pytest.approx(total, rel=1e-3)
    assert app.code[0].value == f"headway compare {finished_run.run_id}"


def test_the_language_switch_keeps_the_place(open_page, finished_run):
    page = html(open_page(page="run", run=finished_run.run_id))
    assert f'href="?page=run&amp;run={finished_run.run_id}&amp;lang=fr"' in page


def test_what_users_name_is_shown_as_text(open_page, new_history, ledger):
    history = new_history(ledger, "evil-0123456789")
    history.submit(name="x")
    assert "<script>alert" not in html(open_page(team="<script>alert(1)</script>"))


def test_without_streamlit_the_command_says_what_to_install(home, monkeypatch):
    from headway.errors import ExternalError

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["dashboard"])
    assert isinstance(done.exception, ExternalError)
    assert "headway[dashboard]" in done.exception.hint
