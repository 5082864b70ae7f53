"""The value sequences of frame fields in the form of TRex's field engine: one value after the other, then again.

A field that keeps each value for several frames is advanced by a variable that wraps around after as many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.generator.trex.frames import Field

LIST_BYTES_MAX = 65_000
"""Highest size of all value lists of a stream: TRex silently truncates longer programs."""
VARIABLES_BYTES_MAX = 64
"""Of all variables of a stream."""

Json = dict[str, Any]


@dataclass(frozen=True)
class FieldSequence:
    """The words of a field, each for `every` frames, cyclically."""

    field: Field
    name: str
    at: int
    """Offset in the frame."""
    size: int
    """Bytes: 1, 2, 4 or 8."""
    every: int
    words: Sequence[int]

    @property
    def through_count(self) -> int:
        """Frames per cycle."""
        return self.every * len(self.words)

    @property
    def list_bytes(self) -> int:
        """Size of its value list, 0 if it needs none."""
        return 0 if self._counted() else self.size * len(self.words)

    def variable(self) -> Json:
        """Return the variable; it starts at the first word."""
        counted = self._counted()
        begin = {"type": "flow_var", "name": self.name, "size": self.size, "op": "inc", "split_to_cores": False}
        return begin | (counted or {"value_list": list(self.words), "step": 1})

    def drawn(self, seed: int) -> Json:
        """Return a variable with as many random values in the same range."""
        return {
            "type": "flow_var_rand_limit",
            "name": self.name,
            "size": self.size,
            "limit": len(self.words),
            "seed": seed,
            "min_value": min(self.words),
            "max_value": max(self.words),
            "split_to_cores": False,
        }

    def write(self) -> Json:
        """Return the instruction that writes the variable into the frame."""
        return {
            "type": "write_flow_var",
            "name": self.name,
            "pkt_offset": self.at,
            "add_value": 0,
            "is_big_endian": True,
        }

    def _counted(self) -> Json | None:
        """Return start, range and step of a counting variable; None if it needs a list.

        The range must be a multiple of the step, else TRex widens it upwards, even beyond the variable's size.
        """
        if not isinstance(self.words, range):
            return None
        first, last, step = self.words[0], self.words[-1], self.words.step
        largest = (1 << 8 * self.size) - 1
        if last + step - 1 <= largest:
            low, high = first, last + step - 1
        elif first >= step - 1:
            low, high = first - step + 1, last
        else:
            return None
        return {"init_value": first, "min_value": low, "max_value": high, "step": step}


def field_sequences(field: Field) -> tuple[FieldSequence, ...]:
    """Return the sequence of a field, two if no variable is wide enough, none if the field is constant.

    Raises: GeneratorError if it has more values than TRex supports.
    """
    if field.is_constant:
        return ()
    words, every = _periodic(field)
    if len(words) == 1:
        return ()
    name = f"{field.name}_{field.at}"
    for size in (1, 2, 4, 8):
        part = _low_part(words, size) if size <= field.width else None
        if part is not None:
            return (FieldSequence(field, name, field.at + field.width - size, size, every, part),)
    table = list(words)
    upper, lower = [word >> 32 for word in table], [word & 0xFFFFFFFF for word in table]
    return (
        FieldSequence(field, f"{name}_upper", field.at, field.width - 4, every, upper),
        FieldSequence(field, name, field.at + field.width - 4, 4, every, lower),
    )


def check_list_size(found: Sequence[FieldSequence]) -> None:
    """Check that value lists fit into TRex's limit. Raises GeneratorError."""
    used_bytes = sum(sequence.list_bytes for sequence in found)
    if used_bytes > LIST_BYTES_MAX:
        longest = max(found, key=lambda sequence: sequence.list_bytes)
        raise GeneratorError(
            f"traffic: the list of {len(longest.words)} values of {longest.field.name} is too long for TRex (limit "
            f"{LIST_BYTES_MAX // longest.size}); use fewer values, or values that count up"
        )


def _periodic(field: Field) -> tuple[Sequence[int], int]:
    """Return the words and how long each is kept, with the field's period applied."""
    words, every, period = field.words, field.every, field.period
    if period is None or period == every * field.count:
        return words, every
    if period % every:
        every_one = [words[frame // every % len(words)] for frame in range(period)]
        return every_one, 1
    turns = period // every
    if turns <= len(words):
        return words[:turns], every
    return [words[turn % len(words)] for turn in range(turns)], every


def _low_part(words: Sequence[int], size: int) -> Sequence[int] | None:
    """Return the low bytes of the words; None if the others change."""
    base = words[0] >> 8 * size << 8 * size
    if isinstance(words, range):
        part = range(words[0] - base, words[-1] - base + 1, words.step)
        return part if part[-1] >> 8 * size == 0 else None
    if any(word >> 8 * size << 8 * size != base for word in words):
        return None
    return [word - base for word in words]


def counter(name: str, count: int) -> Json:
    """Return a variable that wraps around after `count` frames and is not written into the frame."""
    size = 1 if count <= 1 << 8 else 2 if count <= 1 << 16 else 4
    return {
        "type": "flow_var",
        "name": name,
        "size": size,
        "op": "inc",
        "init_value": 0,
        "min_value": 0,
        "max_value": count - 1,
        "step": 1,
        "split_to_cores": False,
    }


def link_variables(found: Sequence[FieldSequence], variables: dict[str, Json]) -> list[Json]:
    """Order variables so that each advances the next, with extra counters where no cycle length fits."""
    chains: list[tuple[int, list[Json]]] = []
    for sequence in sorted(found, key=lambda sequence: sequence.every):
        variable = variables[sequence.name]
        at = next((at for at, (through, _) in enumerate(chains) if through == sequence.every), None)
        if at is None:
            begin = [] if sequence.every == 1 else [counter(f"stay_{sequence.name}", sequence.every)]
            chains.append((sequence.every, begin))
            at = len(chains) - 1
        chain = chains[at][1]
        if chain:
            chain[-1] = chain[-1] | {"next_var": variable["name"]}
        chain.append(variable)
        # Random values cannot advance another variable: TRex does not signal their cycle.
        ends = 0 if variable["type"] == "flow_var_rand_limit" else sequence.through_count
        chains[at] = ends, chain
    return [variable for _, chain in chains for variable in chain]
