"""What AWS's side can refuse before a price comes: no profile, half a key, no layout, no network."""

from __future__ import annotations

from pathlib import Path

import pytest
from botocore import exceptions as botocore

from headway.catalog.aws_fetch import Fetched, boto3_clients
from headway.controller.pricing import refresh
from headway.errors import ExternalError
from headway.reports.catalogue import failed_rows
from headway.settings import Settings

NOW = 1_790_000_000_000_000
KINDS = ("on-demand", "reserved", "spot", "savings-plan", "block", "machines")
REGIONS = ["us-east-1", "eu-west-3", "eu-west-1"]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation without any configuration of AWS."""
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path


def asked(regions: list[str] = REGIONS) -> None:
    refresh(Settings.load(), boto3_clients(), (regions, KINDS, ["p5.48xlarge"]), NOW)


@pytest.mark.parametrize(
    ("variables", "files", "said"),
    [
        ({"AWS_PROFILE": "nope"}, {}, "nope"),
        ({}, {"credentials": "[default]\naws_access_key_id = x\n"}, "Partial credentials"),
        ({}, {"config": "no layout [\n"}, "parse config file"),
        ({}, {"credentials": "no layout [\n"}, "parse config file"),
        ({}, {}, "locate credentials"),
        (
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": "foo"},
            {},
            "Invalid endpoint: foo",
        ),
        ({}, {"config": "[default]\ncredential_process = /absent/program\n"}, "absent"),
    ],
)
def test_clients_that_cannot_be_made_are_told_once(
    bare: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], files: dict[str, str], said: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for name, value in files.items():
        (bare / name).write_text(value)
    with pytest.raises(ExternalError) as caught:
        asked()
    assert str(caught.value).count(said) == 1
    assert caught.value.exit_code == 7
    assert "aws" in (caught.value.hint or "")
    assert not (bare / "home").exists()


@pytest.mark.parametrize(
    "kind",
    [
        botocore.EndpointConnectionError,
        botocore.ConnectTimeoutError,
        botocore.ReadTimeoutError,
        botocore.ConnectionClosedError,
        botocore.ProxyConnectionError,
        botocore.SSLError,
    ],
)
def test_an_endpoint_that_nobody_reaches_is_one_line_about_the_network(
    bare: Path, kind: type[botocore.BotoCoreError]
) -> None:
    def make(service: str, region: str) -> object:
        url = f"https://{service}.{region}.example/path"
        raise kind(endpoint_url=url, proxy_url=url, error="e")

    with pytest.raises(ExternalError) as caught:
        refresh(Settings.load(), make, (REGIONS, KINDS, ["p5.48xlarge"]), NOW)
    assert len(str(caught.value).splitlines()) == 1
    assert "https://ec2.eu-west-1.example, " in str(caught.value)
    assert "(+2)" in str(caught.value)
    assert "proxy" in (caught.value.hint or "")


def test_failures_of_one_reason_are_one_row() -> None:
    found = failed_rows(
        [
            Fetched("spot", "a", (), problem="x"),
            Fetched("block", "a", (), problem="not tried again: x"),
            Fetched("spot", "b", (), problem="y"),
        ]
    )
    assert found == [{"section": "spot/a, block/a", "problem": "x"}, {"section": "spot/b", "problem": "y"}]
