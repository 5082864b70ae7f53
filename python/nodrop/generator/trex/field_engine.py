"""TRex's field engine: the variables that change a stream's frames, and the checksums that depend on them."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.generator.trex.field_sequence import (
    VARIABLES_BYTES_MAX,
    FieldSequence,
    check_list_size,
    field_sequences,
    link_variables,
)
from nodrop.generator.trex.frames import Checksum, FrameTemplate
from nodrop.model.layer import IcmpEcho, Ipv4, Ipv6, Tcp, Udp
from nodrop.model.traffic import RandomValues, Stream

L4_TYPES = {"udp": 11, "tcp": 13}
"""TRex's numbers for `fix_checksum_hw`."""
LENGTH_MAX = 127
"""Highest length of the headers before one whose checksum the card computes."""
HIGHEST_BITS_TAKEN = {"label", "vni", "flow_label"}
"""Fields that share bytes with others, so that values between two valid ones may be invalid."""

Json = dict[str, Any]


@dataclass(frozen=True)
class FieldProgram:
    """A frame and the instructions that change it."""

    instructions: tuple[Json, ...]
    blanked: tuple[int, ...]
    """Offsets of checksums that are set to zero, which UDP over IPv4 permits (RFC 768)."""
    notes: tuple[str, ...] = ()

    def packet(self, frame: bytes) -> Json:
        """Return the frame in the form of `add_stream`."""
        bare = bytearray(frame)
        for at in self.blanked:
            bare[at : at + 2] = b"\0\0"
        return {"binary": base64.b64encode(bare).decode(), "meta": ""}


def build_program(stream: Stream, template: FrameTemplate, *, is_latency: bool = False) -> FieldProgram:
    """Return the field program of a stream's frames; those of its latency stream also carry TRex's mark.

    Raises: GeneratorError naming what TRex cannot change.
    """
    found = [sequence for part in template.fields for sequence in field_sequences(part)]
    variables = {sequence.name: sequence.variable() for sequence in found}
    notes = []
    for sequence in found:
        drawn = _drawn(stream, sequence, found)
        if drawn:
            variables[sequence.name] = drawn
            notes.append(
                f"{sequence.field.name}: TRex draws {len(sequence.words)} random values itself, with repetitions; the "
                "requested distinct values do not fit"
            )
    check_list_size([sequence for sequence in found if "value_list" in variables[sequence.name]])
    ordered = link_variables(found, variables)
    _check_variables(ordered)
    sums, blanked = _checksums(stream, template, {sequence.field.at for sequence in found}, is_latency=is_latency)
    instructions = (*ordered, *(sequence.write() for sequence in found), *sums)
    return FieldProgram(instructions, blanked, tuple(dict.fromkeys(notes)))


def _drawn(stream: Stream, sequence: FieldSequence, found: Sequence[FieldSequence]) -> Json | None:
    """Return a variable with random values, if the requested ones are random and too many for a list."""
    values = stream.ranges[sequence.field.range].values
    if (
        not isinstance(values, RandomValues)
        or sequence.field.name in HIGHEST_BITS_TAKEN
        or sequence.every > 1
        or sequence.field.period
    ):
        return None
    try:
        check_list_size(found)
    except GeneratorError:
        return sequence.drawn(values.seed % 2**32 or 1)
    return None


def _check_variables(ordered: Sequence[Json]) -> None:
    used_bytes = sum(2 * one["size"] + 4 if "limit" in one else one["size"] for one in ordered)
    if used_bytes > VARIABLES_BYTES_MAX:
        raise GeneratorError(
            f"traffic.ranges: {len(ordered)} variables need {used_bytes} bytes (TRex has {VARIABLES_BYTES_MAX}); let "
            "fewer fields change"
        )


def _checksums(
    stream: Stream, template: FrameTemplate, changing: set[int], *, is_latency: bool
) -> tuple[list[Json], tuple[int, ...]]:
    """Return the instructions that keep checksums valid, and the offsets of zeroed ones. Inner headers first: outer
    checksums cover them.

    UDP over IPv4 goes without a checksum wherever it would change: such frames are valid on any card and cost TRex
    nothing.
    """
    instructions: list[Json] = []
    blanked: list[int] = []
    payload_changes = is_latency
    for checksum in reversed(template.checksums):
        layer, around = stream.layers[checksum.layer], stream.layers[checksum.layer - 1]
        follows = any(template.fields[position].at in changing for position in checksum.follows)
        if isinstance(layer, Ipv4):
            if follows:
                instructions.append({"type": "fix_checksum_ipv4", "pkt_offset": template.layers[checksum.layer][0]})
        elif follows or (payload_changes and _covers_rest(stream, checksum)):
            if checksum.zero_is_none and isinstance(around, Ipv4):
                blanked.append(checksum.at)
                payload_changes = True
            else:
                instructions.append(_fixed_by_card(stream, template, checksum))
    by_card = [one for one in instructions if one["type"] == "fix_checksum_hw"]
    if len(by_card) > 1:
        raise GeneratorError(
            "traffic: two nested checksums of a frame depend on changing fields, of which TRex computes one; use UDP "
            "over IPv4 inside, or let nothing inside change"
        )
    # The card also computes the checksum of the IPv4 header in front.
    done = {one["l2_len"] for one in by_card}
    return [one for one in instructions if one.get("pkt_offset") not in done], tuple(blanked)


def _covers_rest(stream: Stream, checksum: Checksum) -> bool:
    """Return whether a checksum depends on the bytes behind the headers, or on a zeroed checksum among them."""
    return checksum.covers_payload or any(isinstance(layer, Udp) for layer in stream.layers[checksum.layer + 1 :])


def _fixed_by_card(stream: Stream, template: FrameTemplate, checksum: Checksum) -> Json:
    layer, around = stream.layers[checksum.layer], stream.layers[checksum.layer - 1]
    at, bytes_ = template.layers[checksum.layer - 1]
    possible = isinstance(layer, Udp | Tcp) and isinstance(around, Ipv4 | Ipv6) and at <= LENGTH_MAX
    if isinstance(layer, IcmpEcho) and isinstance(around, Ipv6):
        return {"type": "fix_checksum_icmpv6", "l2_len": at, "l3_len": bytes_}
    if not possible:
        raise GeneratorError(
            f"traffic: TRex cannot compute a changing checksum of {layer.kind}, only of UDP and TCP; let nothing "
            "change that it covers, or use generator: engine"
        )
    return {"type": "fix_checksum_hw", "l2_len": at, "l3_len": bytes_, "l4_type": L4_TYPES[layer.kind]}
