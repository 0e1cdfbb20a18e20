"""Both stores keep the same promises: bytes by their hash, whole or not at all, names that stay names."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from pathlib import Path

import boto3
import pytest
import requests
from moto import mock_aws

from headway.blobs.folder import FolderStore
from headway.blobs.packages import package_name, unpack
from headway.blobs.s3 import S3Store
from headway.blobs.store import chunks, put
from headway.errors import ExternalError, NotFoundError, UserError


def client():
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    return boto3.client("s3", **keys)


@pytest.fixture(params=["folder", "s3", "s3-prefix"])
def store(request, tmp_path):
    if request.param == "folder":
        yield FolderStore(tmp_path / "blobs")
        return
    with mock_aws():
        client().create_bucket(Bucket="blobs")
        yield S3Store("s3://blobs" + ("/some/where/" if request.param == "s3-prefix" else ""), client)


def test_bytes_come_back_by_their_hash(store):
    data = b"x" * 3_000_001
    sha256 = put(store, data)
    assert sha256 == hashlib.sha256(data).hexdigest()
    assert put(store, data) == sha256
    assert store.size(sha256) == len(data)
    with store.open(sha256) as file:
        assert b"".join(chunks(file)) == data


def test_what_is_not_there_is_said(store):
    assert store.size("0" * 64) is None
    assert store.named("packages", "none") is None
    with pytest.raises(NotFoundError):
        store.open("0" * 64)


def test_what_was_discarded_never_was(store):
    writer = store.writer()
    writer.write(b"half")
    writer.discard()
    assert store.size(hashlib.sha256(b"half").hexdigest()) is None


def test_a_name_points_at_the_last_hash(store):
    first, second = put(store, b"1"), put(store, b"2")
    store.name("packages", "a.zip", first)
    store.name("packages", "a.zip", second)
    assert store.named("packages", "a.zip") == second


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a\0", "x" * 256, "a b", "-x"])
def test_names_that_are_no_names(store, name):
    with pytest.raises(UserError):
        store.name("packages", name, "0" * 64)
    with pytest.raises(UserError):
        store.named("packages", name)


def test_s3_signs_its_own_addresses(store):
    sha256 = put(store, b"signed")
    address = store.signed_url(sha256, 60)
    if address is None:
        assert isinstance(store, FolderStore)
        return
    assert requests.get(address, timeout=5).content == b"signed"


def test_a_bucket_that_is_not_there_is_an_external_error():
    with mock_aws(), pytest.raises(ExternalError, match="no-such-bucket"):
        put(S3Store("s3://no-such-bucket", client), b"x")


def test_a_folder_that_cannot_be_written_is_an_external_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ExternalError):
        FolderStore(tmp_path / "file" / "blobs").writer()


def package(*files, link=None):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text, mode in files:
            item = zipfile.ZipInfo(name)
            item.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(item, text)
        if link:
            item = zipfile.ZipInfo(link)
            item.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(item, "/etc/passwd")
    return data.getvalue()


def test_a_package_is_unpacked_once_with_its_modes(store, tmp_path):
    data = package(("a/run.sh", "x", 0o755), ("train.py", "y", 0o644), ("été 1.py", "z", 0o600))
    sha256 = put(store, data)
    folder = unpack(store, sha256, tmp_path / "code")
    assert (folder / "a" / "run.sh").stat().st_mode & 0o111
    assert (folder / "été 1.py").read_text() == "z"
    (folder / "train.py").write_text("changed")
    assert (unpack(store, sha256, tmp_path / "code") / "train.py").read_text() == "changed"


@pytest.mark.parametrize(
    "data",
    [
        package(("../out.py", "x", 0o644)),
        package(("/abs.py", "x", 0o644)),
        package(("a/../../out.py", "x", 0o644)),
        package(("fine.py", "x", 0o644), link="link"),
        b"not a zip",
        package(("a.py", "x" * 5000, 0o644))[:-40],
        b"",
    ],
)
def test_a_bad_package_leaves_nothing(store, tmp_path, data):
    sha256 = put(store, data)
    with pytest.raises(UserError):
        unpack(store, sha256, tmp_path / "place" / "code")
    assert list((tmp_path / "place").iterdir()) == []
    assert not (tmp_path / "out.py").exists()


@pytest.mark.parametrize(
    ("uri", "name"), [("gcs://a.zip", "a.zip"), ("https://x/a.zip", None), ("gcs://", None), ("a.zip", None)]
)
def test_whose_package_an_address_is(uri, name):
    assert package_name(uri) == name


def test_the_folder_is_not_the_readers_umask(tmp_path):
    sha256 = put(FolderStore(tmp_path / "b"), package(("a.py", "x", 0o644)))
    assert unpack(FolderStore(tmp_path / "b"), sha256, tmp_path / "c").stat().st_mode & 0o055
    assert not list(Path(tmp_path, "b", "drafts").iterdir())
