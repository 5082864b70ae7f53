"""Buffered records on disk: none is lost, the size is bounded, a chunk keeps its id."""

import itertools
import re
import sqlite3
from pathlib import Path

import msgpack
import pytest

from nodrop.cli import main
from nodrop.errors import ShipError
from nodrop.export.fluentd.buffer import BufferFull, RecordBuffer, delivery_lock, get_buffer_path, list_buffers
from nodrop.export.fluentd.sender import Sender, deliver, read_status
from nodrop.model.shipping import Aggregator

AGGREGATOR = Aggregator(host="127.0.0.1", port=9, shared_key_file="/etc/nodrop/shared")


def drain_numbers(buffer: RecordBuffer) -> list[int]:
    """Return the buffered records chunk by chunk, and acknowledge each chunk."""
    result = []
    while chunk := buffer.next_chunk():
        result += [msgpack.unpackb(record.body)["number"] for record in chunk.records]
        buffer.acknowledge(chunk)
    return result


def test_records_leave_in_the_order_they_came_and_chunks_have_one_tag(tmp_path: Path) -> None:
    with RecordBuffer(tmp_path / "b.sqlite") as buffer:
        for number, tag in enumerate("aabba"):
            buffer.append(tag, number, {"number": number})
        chunks = []
        while chunk := buffer.next_chunk():
            chunks.append((chunk.tag, [record.time_ns for record in chunk.records]))
            buffer.acknowledge(chunk)
        assert chunks == [("a", [0, 1]), ("b", [2, 3]), ("a", [4])]


def test_a_chunk_that_was_not_acknowledged_is_the_same_next_time_whatever_came_since(tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    with RecordBuffer(path) as buffer:
        buffer.append("tag", 1, {"number": 1})
        first = buffer.next_chunk()
        buffer.append("tag", 2, {"number": 2})
    with RecordBuffer(path) as buffer:
        assert buffer.next_chunk() == first
        assert drain_numbers(buffer) == [1, 2]


def test_many_records_become_several_chunks(tmp_path: Path) -> None:
    with RecordBuffer(tmp_path / "b.sqlite") as buffer:
        for number in range(1, 1203):
            buffer.append("tag", number, {"number": number})
        assert drain_numbers(buffer) == list(range(1, 1203))


def test_a_record_larger_than_a_chunk_goes_alone(tmp_path: Path) -> None:
    with RecordBuffer(tmp_path / "b.sqlite") as buffer:
        buffer.append("tag", 1, {"number": 1, "text": "x" * 2**21})
        buffer.append("tag", 2, {"number": 2})
        first = buffer.next_chunk()
        assert first and len(first.records) == 1
        assert drain_numbers(buffer) == [1, 2]


def test_a_full_buffer_refuses_what_comes_and_keeps_what_it_has(tmp_path: Path) -> None:
    path, bytes_max = tmp_path / "b.sqlite", 2**17
    with RecordBuffer(path, bytes_max) as buffer:
        with pytest.raises(BufferFull):
            for number in itertools.count():
                buffer.append("tag", number, {"number": number, "text": "x" * 1000})
        stored = buffer.count
        assert stored > 50
        assert path.stat().st_size <= bytes_max
        assert drain_numbers(buffer) == list(range(stored))
        buffer.append("tag", 0, {"number": 0, "text": "there is room again"})
        assert buffer.count == 1


def test_a_buffer_says_whom_it_is_for_and_holds_no_secret(tmp_path: Path) -> None:
    path = get_buffer_path(tmp_path, AGGREGATOR)
    with RecordBuffer(path) as buffer:
        buffer.describe(AGGREGATOR)
    assert list_buffers(tmp_path) == (path,)
    assert read_status(path) == (AGGREGATOR, 0)


def test_only_one_process_delivers(tmp_path: Path) -> None:
    path = get_buffer_path(tmp_path, AGGREGATOR)
    with delivery_lock(path) as alone:
        assert alone
        with pytest.raises(ShipError, match="another nodrop process is sending them"):
            deliver(path)


def test_a_sender_whose_buffer_is_full_says_how_much_was_not_kept(tmp_path: Path) -> None:
    sender = Sender(tmp_path, AGGREGATOR, 2**16)
    for _ in range(100):
        sender.enqueue("tag", {"text": "x" * 1000})
    left = sender.finish(0.5)
    assert left.waiting_count + left.lost_count == 100
    assert left.lost_count > 0
    assert f"{left.lost_count} records for 127.0.0.1:9 were lost: the buffer is full" in list(left.warnings())[1]


def test_a_record_that_cannot_be_kept_is_counted_and_stops_nothing(tmp_path: Path) -> None:
    sender = Sender(tmp_path, AGGREGATOR, 2**20)
    endless: dict[str, object] = {}
    endless["itself"] = endless
    sender.enqueue("tag", endless)
    sender.enqueue("tag", {"path": Path("as text"), "large": 2**70})
    left = sender.finish(0.5)
    assert (left.waiting_count, left.lost_count) == (1, 1)


def test_what_is_no_buffer_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "no.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(ShipError, match=re.escape(f"buffer {tmp_path / 'no.sqlite'}: ")):
        deliver(tmp_path / "no.sqlite")
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    with pytest.raises(ShipError, match="does not name its aggregator"):
        read_status(tmp_path / "empty.sqlite")


def test_ship_lists_what_waits_without_sending_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RecordBuffer(get_buffer_path(tmp_path, AGGREGATOR)) as buffer:
        buffer.describe(AGGREGATOR)
        buffer.append("tag", 1, {"number": 1})
    assert main(["ship", "--buffer-dir", str(tmp_path), "--list"]) == 7
    assert capsys.readouterr().out == "127.0.0.1:9: 1 waiting\n"


def test_ship_says_when_nothing_waits_and_refuses_what_is_no_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ship", "--buffer-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"no buffered records in {tmp_path}\n"
    assert main(["ship", "--buffer-dir", str(tmp_path / "none")]) == 2
