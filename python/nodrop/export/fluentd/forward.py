"""A client of the Fluentd forward protocol, version 1: handshake, chunks, acknowledgements.

Source: fluent/fluentd wiki, Forward Protocol Specification v1.
"""

import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from pathlib import Path
from typing import Any, Self

import msgpack

from nodrop.errors import ShipError
from nodrop.export.fluentd.buffer import Chunk
from nodrop.model.shipping import Aggregator, Tls

EVENT_TIME = 0
"""The msgpack extension type of a time (seconds and nanoseconds)."""
ANSWER_BYTES_MAX = 65536
NS_PER_S = 1_000_000_000


class ForwardConnection:
    """An open, accepted connection to an aggregator; a context manager. Raises ShipError and OSError."""

    def __init__(self, aggregator: Aggregator, timeout_s: float) -> None:
        """Connect, and perform the handshake where a key is configured.

        Args:
            aggregator: the aggregator.
            timeout_s: timeout of each reply.
        """
        self.is_keepalive = True
        """Whether the aggregator accepts more than one chunk per connection."""
        self._aggregator = aggregator
        self._answers = msgpack.Unpacker(raw=True, max_buffer_size=ANSWER_BYTES_MAX)
        self._socket = _connect(aggregator, timeout_s)
        try:
            if aggregator.shared_key_file:
                self._shake_hands(_read_secret(aggregator.shared_key_file))
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        """Return the open connection."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, chunk: Chunk) -> None:
        """Send a chunk (PackedForward mode) and wait for the acknowledgement."""
        entries = b"".join(
            b"\x92" + msgpack.packb(_encode_event_time(each.time_ns)) + each.body for each in chunk.records
        )
        options = {"size": len(chunk.records), "chunk": chunk.chunk_id}
        self._socket.sendall(msgpack.packb([chunk.tag, entries, options]))
        answer = self._answer()
        if isinstance(answer, list) and answer[:1] == [b"HELO"]:
            raise ShipError(f"{self._aggregator.name} requires a shared key; set shared_key_file")
        if not isinstance(answer, dict) or answer.get(b"ack") != chunk.chunk_id.encode():
            raise ShipError(f"{self._aggregator.name} acknowledged a different chunk than was sent")

    def _shake_hands(self, shared_key: bytes) -> None:
        """Perform the handshake (HELO, PING, PONG), in which both sides prove knowledge of the key."""
        helo = self._answer_to("its greeting", b"HELO", 2)
        options = helo[1] if isinstance(helo[1], dict) else {}
        self.is_keepalive = options.get(b"keepalive", True) is not False
        nonce, salt = _to_bytes(options.get(b"nonce")), secrets.token_hex(16).encode()
        name = make_client_name().encode()
        ping = [b"PING", name, salt, _digest(salt, name, nonce, shared_key), *self._credentials(options)]
        self._socket.sendall(msgpack.packb([part.decode() for part in ping]))
        _, accepted, reason, its_name, proof, *_ = self._answer_to("the handshake", b"PONG", 5)
        if accepted is not True:
            detail = _to_bytes(reason).decode(errors="replace")
            raise ShipError(f"{self._aggregator.name} rejected the handshake: {detail}")
        if not hmac.compare_digest(_to_bytes(proof), _digest(salt, _to_bytes(its_name), nonce, shared_key)):
            raise ShipError(f"{self._aggregator.name} did not prove knowledge of the shared key")

    def _credentials(self, options: dict[bytes, Any]) -> tuple[bytes, bytes]:
        """Return user name and password digest; empty where the aggregator does not require them."""
        salt = _to_bytes(options.get(b"auth"))
        if not salt:
            return b"", b""
        if not self._aggregator.username or not self._aggregator.password_file:
            raise ShipError(f"{self._aggregator.name} requires a user; set username and password_file")
        username = self._aggregator.username.encode()
        return username, _digest(salt, username, _read_secret(self._aggregator.password_file))

    def _answer_to(self, what: str, kind: bytes, length: int) -> list[Any]:
        """Return the next reply, which must be of a given kind."""
        answer = self._answer()
        if not isinstance(answer, list) or len(answer) < length or answer[0] != kind:
            raise ShipError(f"{self._aggregator.name}: the reply to {what} is not of the forward protocol")
        return answer

    def _answer(self) -> object:
        """Return the next message from the aggregator."""
        try:
            while True:
                for message in self._answers:
                    return message
                received = self._socket.recv(4096)
                if not received:
                    raise ShipError(f"{self._aggregator.name} closed the connection without an acknowledgement")
                self._answers.feed(received)
        except TimeoutError:
            raise ShipError(f"{self._aggregator.name} accepts connections but does not reply") from None
        except (ValueError, msgpack.UnpackException):
            raise ShipError(f"{self._aggregator.name} does not speak the forward protocol") from None


def make_client_name() -> str:
    """Return the client name for the handshake; not the host name alone, because aggregators reject their own name."""
    return f"nodrop@{socket.gethostname()}"


def _connect(aggregator: Aggregator, timeout_s: float) -> socket.socket:
    plain = socket.create_connection((aggregator.host, aggregator.port), timeout_s)
    if not aggregator.tls:
        return plain
    try:
        name = aggregator.tls.server_name or aggregator.host
        return _make_tls_context(aggregator.tls).wrap_socket(plain, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        plain.close()
        raise ShipError(f"{aggregator.name}: certificate rejected: {error.verify_message}") from None
    except BaseException:
        plain.close()
        raise


def _make_tls_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.ca_file)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate_file:
        context.load_cert_chain(tls.certificate_file, tls.key_file)
    return context


def _encode_event_time(time_ns: int) -> msgpack.ExtType:
    return msgpack.ExtType(EVENT_TIME, struct.pack(">II", *divmod(time_ns, NS_PER_S)))


def _read_secret(file: str) -> bytes:
    """Return the first line of a file. Raises ShipError where the line is empty."""
    secret = Path(file).read_bytes().partition(b"\n")[0].rstrip(b"\r")
    if not secret:
        raise ShipError(f"{file}: the first line is empty; write the secret on the first line")
    return secret


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha512(b"".join(parts)).hexdigest().encode()


def _to_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
