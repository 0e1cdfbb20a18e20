"""A checkpoint is used whole and undamaged, or not at all."""

import json
import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.errors import LeaseLostError
from headway.runs.fencing import check_lease, claim
from headway.train.checkpoints import (
    Manifest,
    describe_files,
    file_sha256,
    is_complete,
    manifest_name,
    newest_complete,
    read_manifest,
    write_manifest,
)


def write(run_folder, step, *, world_size=2, attempt=1, name=None, **changes):
    folder = run_folder / (name or f"checkpoint_{step:06d}_{attempt}")
    folder.mkdir(parents=True)
    for rank in range(world_size):
        part = folder / f"part-{rank}"
        part.mkdir()
        (part / f"rank-{rank}.pt").write_bytes(f"state of rank {rank} at {step}".encode())
        if rank == 0:
            (part / "model.pt").write_bytes(os.urandom(64))
        files = describe_files(part)
        manifest = Manifest("run", attempt, 7, step, rank, world_size, files)
        for file in part.iterdir():
            file.rename(folder / file.name)
        part.rmdir()
        write_manifest(folder, replace(manifest, **(changes.get(f"rank{rank}", {}))))
    return folder


@pytest.fixture
def run_folder(tmp_path):
    good = write(tmp_path / "run", 10)
    latest = write(tmp_path / "run", 20)
    return tmp_path / "run", good, latest


def test_the_highest_complete_step_is_chosen(run_folder):
    folder, good, latest = run_folder
    assert is_complete(good)
    assert is_complete(latest)
    assert newest_complete(folder) == latest


def test_of_equal_steps_the_later_attempts_is_chosen(tmp_path):
    write(tmp_path, 10, attempt=1, name="z")
    second = write(tmp_path, 10, attempt=2, name="a")
    assert newest_complete(tmp_path) == second


def test_steps_are_compared_as_numbers(tmp_path):
    write(tmp_path, 9)
    assert newest_complete(tmp_path / "none") is None
    assert newest_complete(write(tmp_path, 100).parent).name.startswith("checkpoint_000100")


@pytest.mark.parametrize("rank", [0, 1])
def test_every_single_bit_of_a_manifest_counts(run_folder, rank):
    _folder, _good, latest = run_folder
    path = latest / manifest_name(rank)
    before = path.read_bytes()
    for bit in range(len(before) * 8):
        damaged = bytearray(before)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert read_manifest(latest, rank) is None, bit
    assert not is_complete(latest)
    path.write_bytes(before)
    assert is_complete(latest)


ALL_FILES = ["model.pt", "rank-0.pt", "rank-1.pt", manifest_name(0), manifest_name(1)]


@pytest.mark.parametrize("name", ALL_FILES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_flipped_bit_is_noticed(run_folder, name, data):
    folder, good, latest = run_folder
    path = latest / name
    before = path.read_bytes()
    bit = data.draw(st.integers(0, len(before) * 8 - 1))
    damaged = bytearray(before)
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)
    try:
        assert not is_complete(latest)
        assert newest_complete(folder) == good
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("name", ALL_FILES)
@pytest.mark.parametrize("kept", [0, 1, -1])
def test_a_truncated_file_is_noticed(run_folder, name, kept):
    folder, good, latest = run_folder
    path = latest / name
    path.write_bytes(path.read_bytes()[:kept])
    assert newest_complete(folder) == good


@pytest.mark.parametrize("name", ALL_FILES)
def test_a_missing_file_is_noticed(run_folder, name):
    folder, good, latest = run_folder
    (latest / name).unlink()
    assert newest_complete(folder) == good


def test_a_longer_file_is_noticed(run_folder):
    folder, good, latest = run_folder
    with (latest / "model.pt").open("ab") as file:
        file.write(b"x")
    assert newest_complete(folder) == good


@pytest.mark.parametrize(
    "change", [{"attempt": 2}, {"step": 19}, {"world_size": 3}, {"lease_epoch": 8}, {"run_id": "other"}]
)
def test_parts_of_two_attempts_are_no_checkpoint(tmp_path, change):
    good = write(tmp_path, 10)
    mixed = write(tmp_path, 20, rank1=change)
    assert not is_complete(mixed)
    assert newest_complete(tmp_path) == good


def test_one_ranks_manifest_does_not_stand_for_anothers(run_folder):
    folder, good, latest = run_folder
    (latest / manifest_name(1)).write_bytes((latest / manifest_name(0)).read_bytes())
    assert newest_complete(folder) == good


def test_a_rank_that_has_not_written_yet_leaves_it_incomplete(tmp_path):
    folder = write(tmp_path, 5, world_size=3)
    (folder / manifest_name(2)).unlink()
    assert newest_complete(tmp_path) is None


def test_strange_folders_are_passed_over(run_folder):
    folder, _good, latest = run_folder
    (folder / "empty").mkdir()
    (folder / "file").write_text("x")
    odd = folder / "odd"
    odd.mkdir()
    for text in ("null", "[]", '{"files": 3}', "\xff"):
        (odd / manifest_name(0)).write_text(text, encoding="latin-1")
        assert newest_complete(folder) == latest


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    manifest = Manifest("é", 3, 2**50, 9, 0, 1, {"a b": (3, "f" * 64)})
    sha = write_manifest(tmp_path, manifest)
    path = tmp_path / manifest_name(0)
    assert read_manifest(tmp_path, 0) == manifest
    assert sha == file_sha256(path)
    assert isinstance(json.loads(path.read_bytes()), dict)
    assert read_manifest(tmp_path, 1) is None


def test_a_later_claim_locks_the_earlier_attempt_out(tmp_path):
    check_lease(tmp_path, "run", 1, 5)
    claim(tmp_path / "run", 5)
    check_lease(tmp_path / "run", "run", 1, 5)
    claim(tmp_path / "run", 6)
    with pytest.raises(LeaseLostError):
        check_lease(tmp_path / "run", "run", 1, 5)
    check_lease(tmp_path / "run", "run", 2, 6)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["lease"]
