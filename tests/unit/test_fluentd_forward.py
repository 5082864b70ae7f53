"""Answers of an aggregator: any answer ends in a message, and the records stay buffered."""

import contextlib
import hashlib
import random
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgpack
import pytest

from nodrop.errors import ShipError
from nodrop.export.fluentd import sender
from nodrop.export.fluentd.buffer import RecordBuffer, get_buffer_path
from nodrop.export.fluentd.sender import deliver
from nodrop.model.shipping import Aggregator, Tls

Answer = Callable[[socket.socket], None]
HELO = msgpack.packb(["HELO", {"nonce": b"n" * 16, "auth": b"a" * 16, "keepalive": True}])


@contextlib.contextmanager
def serve_connections(answer: Answer) -> Iterator[int]:
    """Serve every connection with this function, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(OSError):
                        answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def buffered_record(directory: Path, aggregator: Aggregator) -> Path:
    """A buffer with one record."""
    path = get_buffer_path(directory, aggregator)
    with RecordBuffer(path) as buffer:
        buffer.describe(aggregator)
        buffer.append("tag", 1, {"number": 1})
    return path


def count(path: Path) -> int:
    with RecordBuffer(path) as buffer:
        return buffer.count


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "closed the connection without an acknowledgement"),
        (b"\xc1", "does not speak the forward protocol"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "acknowledged a different chunk than was sent"),
        (msgpack.packb({"ack": "another"}), "acknowledged a different chunk than was sent"),
        (HELO, "requires a shared key"),
    ],
)
def test_an_answer_that_is_no_acknowledgement_leaves_the_record_where_it_is(
    tmp_path: Path, answer: bytes, sentence: str
) -> None:
    def reply(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with serve_connections(reply) as port:
        path = buffered_record(tmp_path, Aggregator(host="127.0.0.1", port=port))
        with pytest.raises(ShipError, match=sentence):
            deliver(path)
    assert count(path) == 1


def test_any_bytes_in_the_handshake_end_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "ANSWER_S", 0.2)
    draw = random.Random(1)
    key = tmp_path / "key"
    key.write_text("secret\n")
    replies: list[bytes] = []

    def reply(connection: socket.socket) -> None:
        connection.sendall(replies.pop())
        connection.recv(65536)

    with serve_connections(reply) as port:
        path = buffered_record(tmp_path, Aggregator(host="127.0.0.1", port=port, shared_key_file=str(key)))
        for _ in range(100):
            mangled = bytearray(HELO)
            for _ in range(draw.randint(1, 4)):
                mangled[draw.randrange(len(mangled))] = draw.randrange(256)
            replies.append(bytes(mangled) if draw.random() < 0.7 else draw.randbytes(draw.randint(0, 200)))
            with pytest.raises(ShipError):
                deliver(path)
    assert count(path) == 1


def test_a_server_without_tls_is_a_sentence_for_a_client_with_it(tmp_path: Path) -> None:
    def reply(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"\x00" * 64)

    with serve_connections(reply) as port:
        path = buffered_record(tmp_path, Aggregator(host="127.0.0.1", port=port, tls=Tls(verify=False)))
        with pytest.raises(ShipError):
            deliver(path)


def test_an_impostor_that_does_not_know_the_key_gets_no_record(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret\n")
    received: list[bytes] = []

    def reply(connection: socket.socket) -> None:
        connection.sendall(msgpack.packb(["HELO", {"nonce": b"n" * 16, "auth": b"", "keepalive": True}]))
        connection.recv(65536)
        connection.sendall(msgpack.packb(["PONG", True, "", "impostor", "0" * 128]))
        received.append(connection.recv(65536))

    with serve_connections(reply) as port:
        path = buffered_record(tmp_path, Aggregator(host="127.0.0.1", port=port, shared_key_file=str(key)))
        with pytest.raises(ShipError, match="did not prove knowledge of the shared key"):
            deliver(path)
    assert received == [b""]


def test_a_connection_that_is_not_kept_alive_takes_one_chunk(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret\n")
    connections: list[int] = []

    def reply(connection: socket.socket) -> None:
        connections.append(1)
        connection.sendall(msgpack.packb(["HELO", {"nonce": b"", "auth": b"", "keepalive": False}]))
        (ping,) = _read_message(connection)
        proof = _digest(ping[2], "server", "", "secret")
        connection.sendall(msgpack.packb(["PONG", True, "", "server", proof]))
        (message,) = _read_message(connection)
        connection.sendall(msgpack.packb({"ack": message[2]["chunk"]}))

    with serve_connections(reply) as port:
        path = buffered_record(tmp_path, Aggregator(host="127.0.0.1", port=port, shared_key_file=str(key)))
        with RecordBuffer(path) as buffer:
            buffer.append("another tag", 2, {"number": 2})
        deliver(path)
    assert (len(connections), count(path)) == (2, 0)


def _read_message(connection: socket.socket) -> list[list[dict[str, str]]]:
    """Return the message, once it is complete."""
    unpacker = msgpack.Unpacker()
    while True:
        unpacker.feed(connection.recv(65536))
        if result := list(unpacker):
            return result


def _digest(*parts: object) -> str:
    return hashlib.sha512("".join(str(part) for part in parts).encode()).hexdigest()


def test_a_name_that_nobody_knows_is_a_sentence(tmp_path: Path) -> None:
    path = buffered_record(tmp_path, Aggregator(host="aggregator.invalid", port=24224))
    with pytest.raises(ShipError, match=r"^[^\[]+$"):  # the resolver's sentence, without "[Errno -2]"
        deliver(path)
