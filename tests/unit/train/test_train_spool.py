"""Workers' words reach the ledger: each line once, whole, from every writer."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.runs.environment import Supervised
from headway.runs.events import EventKind
from headway.runs.spool import SpoolReader, SpoolWriter
from headway.runs.telling import to_events

TEXT = st.text(max_size=20)


def test_each_line_is_read_once(tmp_path):
    writer, reader = SpoolWriter(tmp_path, "rank-0"), SpoolReader(tmp_path)
    assert list(reader.new_events()) == []
    writer.write("progress", step=1)
    assert [(name, line["body"]) for name, line in reader.new_events()] == [("rank-0", {"step": 1})]
    assert list(reader.new_events()) == []
    writer.write("progress", step=2)
    assert [line["seq"] for _name, line in reader.new_events()] == [2]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(TEXT, TEXT, max_size=3), max_size=8), st.data())
def test_a_line_cut_anywhere_is_left_until_it_is_whole(tmp_path_factory, bodies, data):
    folder = tmp_path_factory.mktemp("spool")
    writer = SpoolWriter(folder, "w")
    for body in bodies:
        writer.write("note", values=body)
    (path,) = folder.glob("*.jsonl")
    whole = path.read_bytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    reader, found = SpoolReader(folder), []
    for end in [*cuts, len(whole)]:
        path.write_bytes(whole[:end])
        found.extend(line["body"]["values"] for _name, line in reader.new_events())
        assert len(found) == whole[:end].count(b"\n")
    assert found == bodies


def test_writers_do_not_mix(tmp_path):
    writers = [SpoolWriter(tmp_path, f"rank-{i}") for i in range(3)]
    reader = SpoolReader(tmp_path)
    for step in range(5):
        for rank, writer in enumerate(writers):
            writer.write("progress", step=step, rank=rank)
    found = list(reader.new_events())
    assert len(found) == 15
    for rank in range(3):
        mine = [line for name, line in found if name == f"rank-{rank}"]
        assert [(line["seq"], line["body"]["step"], line["body"]["rank"]) for line in mine] == [
            (step + 1, step, rank) for step in range(5)
        ]


def test_a_writer_that_starts_again_has_a_later_epoch(tmp_path):
    first, second = SpoolWriter(tmp_path, "driver"), SpoolWriter(tmp_path, "driver")
    first.write("a")
    second.write("b")
    assert second.epoch > first.epoch
    assert len(list(SpoolReader(tmp_path).new_events())) == 2


def test_text_that_is_not_ascii_and_breaks_lines_stays_whole(tmp_path):
    writer = SpoolWriter(tmp_path, "w")
    text = "Zürich 日本\n\r\u2028\x85\x00 😀"
    writer.write("note", text=text)
    ((_name, line),) = SpoolReader(tmp_path).new_events()
    assert line["body"]["text"] == text


def test_a_line_that_a_full_disk_left_in_pieces_does_not_hide_the_next(tmp_path):
    writer = SpoolWriter(tmp_path, "w")
    writer.write("note", n=1)
    (path,) = tmp_path.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"epoch": 1, "se')
    writer.write("note", n=2)  # glued to the piece
    writer.write("note", n=3)
    with path.open("ab") as file:
        file.write(b"3\n\xff\xfe\n")
    assert [line["body"]["n"] for _name, line in SpoolReader(tmp_path).new_events()] == [1, 3]


def test_without_a_folder_nothing_is_written():
    SpoolWriter(None, "w").write("note")


def test_lines_become_events_in_time_order_over_all_writers():
    def line(at, kind, seq=1, **body):
        return {"epoch": 5, "seq": seq, "at": at, "kind": kind, "body": body}

    lines = [
        ("rank-0", line(30, "progress", 2, step=1)),
        ("rank-0", line(10, "hello", 1, rank=0, world_size=2)),
        ("rank-1", line(11, "hello", 1, rank=1, world_size=2)),
        ("driver", line(20, "failure", 1, failure_class="user", reason="x")),
        ("rank-0", line(40, "never-heard-of", 3)),
    ]
    events = to_events("r", 1, "r-a1", lines)
    assert [(e.kind, e.occurred_at, e.source, e.epoch, e.seq) for e in events] == [
        (EventKind.WORLD, 10, "r-a1:rank-0", 5, 1),
        (EventKind.NOTE, 20, "r-a1:driver", 5, 1),
        (EventKind.PROGRESS, 30, "r-a1:rank-0", 5, 2),
    ]
    assert events[1].body == {"what": "failure", "failure_class": "user", "reason": "x"}
    json.dumps([event.body for event in events])


def test_without_a_supervisor_a_script_is_on_its_own(monkeypatch):
    for name in (
        "RUN_ID",
        "ATTEMPT",
        "SPOOL",
        "CONTROL",
        "STORAGE",
        "LEASE_EPOCH",
        "WORKERS",
        "CPUS_PER_WORKER",
    ):
        monkeypatch.delenv(f"HEADWAY_{name}", raising=False)
    assert Supervised.read() == Supervised(None, 1, None, None, None, 0, None, 1)
