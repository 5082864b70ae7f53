"""Which values a field of a frame walks through, as TRex's field engine has them: one after the other, then again.

A field that stays at each value for several frames is advanced by whatever goes round in as many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nodrop.errors import GeneratorError
from nodrop.generator.trex.frames import Field

LIST_BYTES_MAX = 65_000
"""For all lists of values of a stream: TRex keeps its program in so much, and cuts longer ones short without a word."""
VARIABLES_BYTES_MAX = 64
"""For all variables of a stream."""

Json = dict[str, Any]


@dataclass(frozen=True)
class FieldSequence:
    """The words of a field, each for `every` frames, then again."""

    field: Field
    name: str
    at: int
    """Where in the frame."""
    size: int
    """Bytes: 1, 2, 4 or 8."""
    every: int
    words: Sequence[int]

    @property
    def through_count(self) -> int:
        """Frames after which it begins again."""
        return self.every * len(self.words)

    @property
    def list_bytes(self) -> int:
        """What its list takes, where it needs one."""
        return 0 if self._counted() else self.size * len(self.words)

    def variable(self) -> Json:
        """The variable; it begins with the first word."""
        counted = self._counted()
        begin = {"type": "flow_var", "name": self.name, "size": self.size, "op": "inc", "split_to_cores": False}
        return begin | (counted or {"value_list": list(self.words), "step": 1})

    def drawn(self, seed: int) -> Json:
        """A variable with as many random values between the same ends."""
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
        """The variable into the frame."""
        return {
            "type": "write_flow_var",
            "name": self.name,
            "pkt_offset": self.at,
            "add_value": 0,
            "is_big_endian": True,
        }

    def _counted(self) -> Json | None:
        """From where to where in which steps; None where a list is needed.

        The range has to be a whole number of steps, else TRex widens it upwards, even beyond what the variable holds.
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
    """A field as one sequence, or as two abreast where no variable is as wide; none where it never changes.

    Raises: GeneratorError where it takes more values than TRex has room for.
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
    """Refuse lists that are too long for TRex. Raises GeneratorError."""
    taken = sum(sequence.list_bytes for sequence in found)
    if taken > LIST_BYTES_MAX:
        longest = max(found, key=lambda sequence: sequence.list_bytes)
        raise GeneratorError(
            f"traffic: {len(longest.words)} values of {longest.field.name} asked one by one; TRex has room for "
            f"{LIST_BYTES_MAX // longest.size}; take fewer, or values that count up"
        )


def _periodic(field: Field) -> tuple[Sequence[int], int]:
    """Words and how long each stays, with the period of the field in the words."""
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
    """The low bytes of the words; None where the others change."""
    base = words[0] >> 8 * size << 8 * size
    if isinstance(words, range):
        part = range(words[0] - base, words[-1] - base + 1, words.step)
        return part if part[-1] >> 8 * size == 0 else None
    if any(word >> 8 * size << 8 * size != base for word in words):
        return None
    return [word - base for word in words]


def counter(name: str, count: int) -> Json:
    """A variable that goes round in so many frames and is written nowhere."""
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
    """The variables in an order in which each advances the one behind it, counters where none goes round in time."""
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
        # Nothing can follow random values: TRex does not say when they begin again.
        ends = 0 if variable["type"] == "flow_var_rand_limit" else sequence.through_count
        chains[at] = ends, chain
    return [variable for _, chain in chains for variable in chain]
