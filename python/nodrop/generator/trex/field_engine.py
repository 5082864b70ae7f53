"""A frame of TRex and the program that changes it: variables, where they are written, and checksums."""

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
"""Of everything in front of a header whose checksum a card is to compute."""
HIGHEST_BITS_TAKEN = {"label", "vni", "flow_label"}
"""Fields that share their last bytes with others, so that values between two of theirs may be none."""

Json = dict[str, Any]


@dataclass(frozen=True)
class FieldProgram:
    """A frame and what changes in it."""

    instructions: tuple[Json, ...]
    blanked: tuple[int, ...]
    """Where checksums are left out, which UDP over IPv4 may (RFC 768)."""
    notes: tuple[str, ...] = ()

    def packet(self, frame: bytes) -> Json:
        """The frame as `add_stream` has it."""
        bare = bytearray(frame)
        for at in self.blanked:
            bare[at : at + 2] = b"\0\0"
        return {"binary": base64.b64encode(bare).decode(), "meta": ""}


def build_program(stream: Stream, template: FrameTemplate, *, is_latency: bool = False) -> FieldProgram:
    """What changes in the frames of a stream; in those of its latency TRex's mark besides.

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
                f"{sequence.field.name}: TRex draws {len(sequence.words)} random values by itself, of which some are the same; "
                "more different ones than it can be given"
            )
    check_list_size([sequence for sequence in found if "value_list" in variables[sequence.name]])
    ordered = link_variables(found, variables)
    _check_variables(ordered)
    sums, blanked = _checksums(stream, template, {sequence.field.at for sequence in found}, is_latency=is_latency)
    instructions = (*ordered, *(sequence.write() for sequence in found), *sums)
    return FieldProgram(instructions, blanked, tuple(dict.fromkeys(notes)))


def _drawn(stream: Stream, sequence: FieldSequence, found: Sequence[FieldSequence]) -> Json | None:
    """A variable with random values, where those asked for are random and too many to be given one by one."""
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
    taken = sum(2 * one["size"] + 4 if "limit" in one else one["size"] for one in ordered)
    if taken > VARIABLES_BYTES_MAX:
        raise GeneratorError(
            f"traffic.ranges: {len(ordered)} variables of {taken} bytes asked; TRex has {VARIABLES_BYTES_MAX}; "
            "let fewer fields change"
        )


def _checksums(
    stream: Stream, template: FrameTemplate, changing: set[int], *, is_latency: bool
) -> tuple[list[Json], tuple[int, ...]]:
    """How checksums stay right, and where they are left out. Innermost first, as outer ones cover them.

    UDP over IPv4 goes without one wherever it would change: so frames are right on any card, and cost TRex nothing.
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
            "traffic: two checksums of a frame asked to follow what changes, one within the other; TRex has one "
            "computed; use UDP over IPv4 inside, or let nothing inside change"
        )
    # A card computes the checksum of the IPv4 header before as well.
    done = {one["l2_len"] for one in by_card}
    return [one for one in instructions if one.get("pkt_offset") not in done], tuple(blanked)


def _covers_rest(stream: Stream, checksum: Checksum) -> bool:
    """Whether a checksum changes with what is behind the headers, or with a checksum in there that is left out."""
    return checksum.covers_payload or any(isinstance(layer, Udp) for layer in stream.layers[checksum.layer + 1 :])


def _fixed_by_card(stream: Stream, template: FrameTemplate, checksum: Checksum) -> Json:
    layer, around = stream.layers[checksum.layer], stream.layers[checksum.layer - 1]
    at, bytes_ = template.layers[checksum.layer - 1]
    possible = isinstance(layer, Udp | Tcp) and isinstance(around, Ipv4 | Ipv6) and at <= LENGTH_MAX
    if isinstance(layer, IcmpEcho) and isinstance(around, Ipv6):
        return {"type": "fix_checksum_icmpv6", "l2_len": at, "l3_len": bytes_}
    if not possible:
        raise GeneratorError(
            f"traffic: a changing checksum of {layer.kind} asked, TRex computes those of UDP and TCP; let nothing "
            "change that it covers, or use generator: engine"
        )
    return {"type": "fix_checksum_hw", "l2_len": at, "l3_len": bytes_, "l4_type": L4_TYPES[layer.kind]}
