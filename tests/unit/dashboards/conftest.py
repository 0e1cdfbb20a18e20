"""The dashboard as `headway dashboard` would start it, run in this process by Streamlit's own tester."""

import json
import sys
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from headway.cli.dashboard import VARIABLE, entry, hand_over
from headway.runs.events import EventKind as K
from headway.settings import Settings

JOB = {
    "version": 1,
    "name": "tiny",
    "entrypoint": "python tiny.py",
    "workload": {"model": {"factory": "bert-large"}, "samples": 1600, "seq_len": 100, "global_batch": 16},
}


@pytest.fixture
def history(ledger, new_history):
    """A history whose job file names a model, so that it can be compared."""
    history = new_history(ledger)

    def submit(at=0.0, job=JOB):
        spec = {"job": job, "resolved": {"entrypoint": "python tiny.py", "workdir": "/tmp"}}
        history.add(K.SUBMITTED, at, name="tiny", team="nlp", spec=spec)

    history.submit = submit
    return history


@pytest.fixture
def open_page(home, tmp_path, monkeypatch):
    main = sys.modules["__main__"]  # the tester puts the page in its place; processes started later need ours
    folder = entry().parent
    monkeypatch.syspath_prepend(str(folder))

    def run(rates="", **query):
        given = None
        if rates:
            given = tmp_path / "rates.csv"
            given.write_text(rates)
        path = Path(tmp_path, "dashboard.json")
        path.write_text(json.dumps(hand_over(Settings.load(), given)))
        monkeypatch.setenv(VARIABLE, str(path))
        st.cache_resource.clear()
        st.cache_data.clear()
        app = AppTest.from_file(str(entry()), default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception, app.exception
        return app

    yield run
    sys.modules["__main__"] = main
    for name in ("context", "markup", "views", "views.run", "views.runs", "views.compare"):
        sys.modules.pop(name, None)
