"""Frames for TRex, built by nodrop's engine: both generators send the same headers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.generator.engine_process import EngineDied, request_once
from nodrop.generator.stations import stream_request
from nodrop.model.neighbor import Station
from nodrop.model.traffic import FieldName, Stream, Traffic

ANSWER_TIMEOUT_S = 30.0
FCS_BYTES = 4
FRAME_BYTES_MIN = 64
LATENCY_PAYLOAD_BYTES = 18
"""Payload of frames of latency streams: TRex writes its mark and a timestamp into the last 16 bytes. With two more
bytes a tagged frame has 68 bytes, which servers are known to accept, and an untagged one 64."""


@dataclass(frozen=True)
class Field:
    """Bytes that change from frame to frame: frame n contains word `n % period // every % count`."""

    range: int
    """Position of the stream's range."""
    name: FieldName
    at: int
    width: int
    """In bytes: 2, 4, 6 or 8."""
    first: int
    step: int
    """From word to word; unused with a table."""
    table: tuple[int, ...] | None
    """All words, if they do not count up."""
    count: int
    every: int
    period: int | None

    @property
    def words(self) -> Sequence[int]:
        """All words in order."""
        return (
            self.table if self.table is not None else range(self.first, self.first + self.step * self.count, self.step)
        )

    @property
    def is_constant(self) -> bool:
        """Whether all words are equal."""
        return self.step == 0 if self.table is None else len(set(self.table)) == 1


@dataclass(frozen=True)
class Checksum:
    """A checksum of a header."""

    layer: int
    at: int
    follows: tuple[int, ...]
    """Positions of the fields that it depends on."""
    covers_payload: bool
    zero_is_none: bool


@dataclass(frozen=True)
class FrameTemplate:
    """Everything to build the frames of a stream."""

    frames: tuple[bytes, ...]
    """Without FCS: the first frame of each size, in the order of the stream's sizes."""
    latency_frame: bytes
    """The frame of its latency stream."""
    layers: tuple[tuple[int, int], ...]
    """Offset and length of each header."""
    fields: tuple[Field, ...]
    checksums: tuple[Checksum, ...]


def build_templates(traffic: Traffic) -> tuple[FrameTemplate, ...]:
    """Return the template of each stream, in their order.

    Raises: GeneratorError if frames are replayed from a file, or cannot be built.
    """
    replayed = next((stream for stream in traffic.streams if stream.replay), None)
    if replayed and replayed.replay:
        raise GeneratorError(
            f"traffic.replay.file: TRex cannot replay the frames of {replayed.replay.file} in order; use generator: "
            "engine"
        )
    requested = [_with_latency(stream) for stream in traffic.streams]
    reply = _ask({"op": "frames", "streams": requested})
    return tuple(map(_template, reply["streams"]))


def build_announcements(stations: Sequence[Station]) -> tuple[tuple[bytes, ...], ...]:
    """Return each station's announcements: a frame for each of its addresses, without FCS.

    Source: RFC 5227 section 3, RFC 4861 section 7.2.6.
    """
    reply = _ask({"op": "frames", "stations": [station.model_dump() for station in stations]})
    return tuple(tuple(map(bytes.fromhex, frames)) for frames in reply["announcements"])


def latency_frame_bytes(stream: Stream) -> int:
    """Return the size of a latency stream's frames, with FCS: the stream's mean size, but at least what TRex's mark
    needs."""
    return max(int(stream.frame_bytes_mean), stream.header_bytes + LATENCY_PAYLOAD_BYTES + FCS_BYTES, FRAME_BYTES_MIN)


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return request_once(request, ANSWER_TIMEOUT_S)
    except EngineDied as error:
        raise GeneratorError(f"cannot build frames for TRex: {error}") from None


def _with_latency(stream: Stream) -> dict[str, Any]:
    requested = stream_request(stream)
    return requested | {"sizes": [*requested["sizes"], {"frame_bytes": latency_frame_bytes(stream)}], "rx_offsets": []}


def _template(reply: dict[str, Any]) -> FrameTemplate:
    *frames, latency_frame = (bytes.fromhex(text) for text in reply["frames"])
    return FrameTemplate(
        frames=tuple(frames),
        latency_frame=latency_frame,
        layers=tuple((layer["at"], layer["bytes"]) for layer in reply["layers"]),
        fields=tuple(map(_field, reply["fields"])),
        checksums=tuple(
            Checksum(**checksum | {"follows": tuple(checksum["follows"])}) for checksum in reply["checksums"]
        ),
    )


def _field(reply: dict[str, Any]) -> Field:
    words = reply["words"]
    return Field(
        range=reply["range"],
        name=reply["field"],
        at=reply["at"],
        width=reply["width"],
        first=words.get("first", 0),
        step=words.get("step", 0),
        table=tuple(words["words"]) if words["mode"] == "table" else None,
        count=reply["count"],
        every=reply["every"],
        period=reply["period"],
    )
