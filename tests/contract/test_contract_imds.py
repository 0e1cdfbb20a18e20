"""A rented machine is priced by what it says of itself, through IMDSv2's documented dialogue."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from headway.controller.figures import figures_of
from headway.costing.here import core_hour_price, here_prices
from headway.meter import imds
from headway.settings import Settings

PATHS = {
    "/latest/meta-data/instance-type": "g6.12xlarge",
    "/latest/meta-data/placement/region": "us-east-1",
    "/latest/meta-data/placement/availability-zone-id": "use1-az4",
    "/latest/meta-data/instance-life-cycle": "on-demand",
}


class Metadata(BaseHTTPRequestHandler):
    """IMDSv2: a token by PUT with a TTL header, then GETs that carry it; 401 without."""

    answers: dict[str, str] = PATHS

    def log_message(self, *words):
        pass

    def reply(self, code, body=""):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_PUT(self):
        good = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self.reply(200 if good else 400, "the-token")

    def do_GET(self):
        if self.headers["X-aws-ec2-metadata-token"] != "the-token":
            self.reply(401)
        elif self.path in self.answers:
            self.reply(200, self.answers[self.path])
        else:
            self.reply(404)


@pytest.fixture
def service(monkeypatch, tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Metadata)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.delenv("HEADWAY_SITES", raising=False)
    yield monkeypatch
    server.shutdown()
    server.server_close()


def test_the_instance_is_read(service):
    assert imds.instance() == imds.Instance("g6.12xlarge", "us-east-1", "use1-az4", "on-demand")


def test_here_costs_the_instances_list_price_by_its_cores_and_energy_is_in_it(service):
    figures = figures_of(Settings.load())
    core, energy = here_prices(figures)
    assert float(core_hour_price(figures)) * 48 == pytest.approx(4.6016, abs=1e-6)
    assert "g6.12xlarge in us-east-1, on-demand list price 4.6016 USD" in core.sku
    assert energy.price_text == "0"
    assert figures.location == "us-east-1"
    assert core.snapshot_sha == figures.snapshot.sha256


def test_a_spot_instance_says_that_the_price_is_an_upper_bound(service):
    service.setattr(Metadata, "answers", {**PATHS, "/latest/meta-data/instance-life-cycle": "spot"})
    assert "at most: the instance is spot" in figures_of(Settings.load()).server_source


def test_an_instance_without_a_known_price_falls_back_to_assumptions_that_say_so(service):
    service.setattr(Metadata, "answers", {**PATHS, "/latest/meta-data/placement/region": "eu-west-3"})
    assert figures_of(Settings.load()).server_source.startswith("assumed")


def test_a_users_own_figures_win(service, tmp_path):
    (tmp_path / "sites.yaml").write_text("version: 1\nhere: {core_price: 0.5 USD}\n")
    assert str(core_hour_price(figures_of(Settings.load()))) == "0.5"


def test_nobody_is_asked_on_a_machine_that_is_not_ec2(monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", raising=False)
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    maker = tmp_path / "sys_vendor"
    maker.write_text("Somebody Else\n")
    assert imds.endpoint(maker) is None
    assert imds.endpoint(tmp_path / "absent") is None
    maker.write_text("Amazon EC2\n")
    assert imds.endpoint(maker) == imds.ENDPOINT
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert imds.endpoint(maker) is None


def test_a_service_that_does_not_answer_is_not_an_error(monkeypatch):
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    assert imds.instance() is None
