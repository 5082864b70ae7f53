"""TRex's field engine: the frames that a stream sends, in order, for the instructions that nodrop uses.

Source: trex-core, src/stx/stl/trex_stl_stream_vm.{h,cpp}, trex_stl_vm_splitter.cpp and trex_stl_rpc_cmds.cpp.
"""

import base64
from collections.abc import Iterator
from typing import Any, Protocol

VARIABLES_BYTES_MAX = 64
"""Bytes for all variables of a stream."""
PROGRAM_BYTES_MAX = 65535
"""Bytes for all instructions, including lists of values."""
OFFSET_MAX = 512
"""The highest end of a written field."""
VALUES_MAX = 65535
CACHE_MAX = 10000
UINT64 = 2**64 - 1
UDP, TCP = 17, 6


class VmRefused(ValueError):
    """A refusal of TRex, in its words."""


class Variable(Protocol):
    """A variable of a stream."""

    size: int
    value: int

    def run(self) -> bool:
        """Take the next value; return whether the next variable is to run too."""


class CountingVariable:
    """`flow_var` between two values."""

    def __init__(self, instruction: dict[str, Any]) -> None:
        self.size = instruction["size"]
        low, high, init, step = (
            instruction["min_value"],
            instruction["max_value"],
            instruction["init_value"],
            instruction["step"],
        )
        if step == 0:
            raise VmRefused("VM: step cannot be 0")
        if high < low:
            raise VmRefused(f"VM: requested flow var max value: '{high}' is smaller than min value: {low}")
        if not low <= init <= high:
            raise VmRefused(f"VM: requested flow var init value: '{init}' should be in range")
        if self.size < 8 and max(init, low, high, step) >> 8 * self.size:
            raise VmRefused(f"VM: requested value is bigger than {2 ** (8 * self.size) - 1}")
        rising = instruction["op"] == "inc"
        over = (high - low + 1) % step
        if over:  # silently widened to a whole number of steps
            low, high = (low, high + step - over) if rising else (low - step + over, high)
            if high > UINT64 or low < 0:
                raise VmRefused("VM: could not pad range to be a true cycle")
        mask = 2 ** (8 * self.size) - 1
        self._low, self._high, self._rising = low & mask, high & mask, rising
        self._step = step % (high - low + 1)
        self.value = self._before(init)

    def _before(self, value: int) -> int:
        return self._moved(value, up=not self._rising)

    def _moved(self, value: int, *, up: bool) -> int:
        if up:
            left = self._high - value
            return value + self._step if self._step <= left else self._low + self._step - left - 1
        left = value - self._low
        return value - self._step if self._step <= left else self._high - (self._step - left - 1)

    def run(self) -> bool:
        """See `Variable.run`."""
        left = self._high - self.value if self._rising else self.value - self._low
        self.value = self._moved(self.value, up=self._rising)
        return left < self._step


class ListVariable:
    """`flow_var` over a list, in ascending order."""

    def __init__(self, instruction: dict[str, Any]) -> None:
        self.size, self._values, self._step = instruction["size"], instruction["value_list"], instruction["step"]
        if not 0 < self._step <= len(self._values):
            raise VmRefused("VM: step cannot be 0, or bigger than list size")
        if len(self._values) > VALUES_MAX:
            raise VmRefused(f"VM: value_list size is bigger than {VALUES_MAX}")
        if any(value >> 8 * self.size for value in self._values):
            raise VmRefused(f"VM: requested value is bigger than {2 ** (8 * self.size) - 1}")
        if instruction["op"] != "inc":
            raise VmRefused("only inc is emulated for lists")
        self._index, self.value = 0, 0

    @property
    def list_bytes(self) -> int:
        """Bytes of the list in the program."""
        return self.size * len(self._values)

    def run(self) -> bool:
        """See `Variable.run`."""
        begins = self._index < self._step
        self.value = self._values[self._index]
        self._index += self._step
        if self._index >= len(self._values):
            self._index -= len(self._values)
        return begins


class RandomVariable:
    """`flow_var_rand_limit`: a number of random values, repeated."""

    def __init__(self, instruction: dict[str, Any]) -> None:
        self.size, self._limit, self._seed = instruction["size"], instruction["limit"], instruction["seed"] & 0xFFFFFFFF
        self._low, self._high = instruction["min_value"], instruction["max_value"]
        if not 0 < self._limit < 2 ** (8 * (1, 2, 4, 8).index(self.size) + 8):
            raise VmRefused(f"limit {self._limit} can't be zero, or bigger than size {self.size}")
        if not self._low <= self._high or (self.size < 8 and self._high >> 8 * self.size):
            raise VmRefused("VM: requested value is bigger")
        self._state, self._count, self.value = self._seed, 0, 0

    def _bits15(self) -> int:
        self._state = (214013 * self._state + 2531011) & 0xFFFFFFFF
        return self._state >> 16 & 0x7FFF

    def _bits(self) -> int:
        if self.size <= 2:
            return self._bits15()
        half = (self._bits15() << 16) + self._bits15()
        return half if self.size == 4 else (half << 32) + (self._bits15() << 16) + self._bits15()

    def run(self) -> bool:
        """See `Variable.run`."""
        if self._count == self._limit:
            self._state, self._count = self._seed, 0
        self.value = self._low + self._bits() % (self._high - self._low + 1)
        self._count += 1
        return True


KINDS = {"flow_var": CountingVariable, "flow_var_rand_limit": RandomVariable}


class Vm:
    """A stream's program over its packet; generates the frames without FCS."""

    def __init__(self, stream: dict[str, Any]) -> None:
        """Read `stream` as `add_stream` has it. Raises VmRefused as the server would."""
        self._packet = base64.b64decode(stream["packet"]["binary"]).ljust(60, b"\0")
        self._program = stream["vm"]["instructions"]
        self._cache = stream["vm"].get("cache", 0)
        if self._cache > CACHE_MAX:
            raise VmRefused("Cache is too big try to reduce it")
        self._variables: dict[str, Variable] = {}
        for at, instruction in enumerate(self._program):
            self._declare(at, instruction)
        lists = [one.list_bytes for one in self._variables.values() if isinstance(one, ListVariable)]
        if any(size + 30 > PROGRAM_BYTES_MAX for size in lists) or sum(lists) + 30 * len(self._program) > 65535:
            raise VmRefused("a program of more than 65535 bytes, which TRex cuts short without a word")
        if sum(one.size for one in self._variables.values()) > VARIABLES_BYTES_MAX:
            raise VmRefused("too many flow variables")

    def _declare(self, at: int, instruction: dict[str, Any]) -> None:
        kind = instruction["type"]
        if kind in KINDS:
            if instruction["name"] in self._variables:
                raise VmRefused(f"flow variable name {instruction['name']} already exists")
            if instruction["size"] not in (1, 2, 4, 8):
                raise VmRefused("non valid length")
            one: Variable = ListVariable(instruction) if "value_list" in instruction else KINDS[kind](instruction)
            self._variables[instruction["name"]] = one
            following = instruction.get("next_var")
            if following:
                behind = self._program[at + 1] if at + 1 < len(self._program) else {"type": "nothing"}
                if behind["type"] not in KINDS or behind["name"] != following or behind.get("split_to_cores", True):
                    raise VmRefused("next_var is used but order of instructions is incorrect or some are split")
        elif kind == "write_flow_var":
            end = instruction["pkt_offset"] + self._variables[instruction["name"]].size
            if end > min(len(self._packet), OFFSET_MAX):
                raise VmRefused(f"packet write with packet_offset {end} bigger than packet size {len(self._packet)}")

    def frames(self) -> Iterator[bytes]:
        """Yield all frames in order, without end."""
        if not self._program:
            while True:
                yield self._packet
        if self._cache:
            created = [self._next() for _ in range(self._cache)]
            while True:
                yield from created
        while True:
            yield self._next()

    def _next(self) -> bytes:
        frame = bytearray(self._packet)
        skipping = False
        for instruction in self._program:
            kind = instruction["type"]
            if kind in KINDS:
                if not skipping:
                    skipping = not self._variables[instruction["name"]].run()
                skipping = skipping and bool(instruction.get("next_var"))
            else:
                skipping = False
                getattr(self, f"_{kind}")(frame, instruction)
        return bytes(frame)

    def _write_flow_var(self, frame: bytearray, instruction: dict[str, Any]) -> None:
        one = self._variables[instruction["name"]]
        value = (one.value + instruction["add_value"]) & (2 ** (8 * one.size) - 1)
        order = "big" if instruction["is_big_endian"] else "little"
        frame[instruction["pkt_offset"] : instruction["pkt_offset"] + one.size] = value.to_bytes(one.size, order)  # type: ignore[arg-type]

    def _write_mask_flow_var(self, frame: bytearray, instruction: dict[str, Any]) -> None:
        value = (self._variables[instruction["name"]].value + instruction["add_value"]) & 0xFFFFFFFF
        shift, size, at = instruction["shift"], instruction["pkt_cast_size"], instruction["pkt_offset"]
        value = value << shift if shift > 0 else value >> -shift
        field = int.from_bytes(frame[at : at + size], "big")
        mask = instruction["mask"] & (2 ** (8 * size) - 1)
        frame[at : at + size] = ((field & ~mask) | (value & mask)).to_bytes(size, "big")

    def _fix_checksum_ipv4(self, frame: bytearray, instruction: dict[str, Any]) -> None:
        at = instruction["pkt_offset"]
        header = at + 4 * (frame[at] & 15)
        frame[at + 10 : at + 12] = b"\0\0"
        frame[at + 10 : at + 12] = internet_checksum(frame[at:header])

    def _fix_checksum_hw(self, frame: bytearray, instruction: dict[str, Any]) -> None:
        ip, l4 = instruction["l2_len"], instruction["l2_len"] + instruction["l3_len"]
        if frame[ip] >> 4 == 4:
            self._fix_checksum_ipv4(frame, {"pkt_offset": ip})
            end = ip + int.from_bytes(frame[ip + 2 : ip + 4], "big")
            addresses = frame[ip + 12 : ip + 20]
        else:
            end = l4 + int.from_bytes(frame[ip + 4 : ip + 6], "big")
            addresses = frame[ip + 8 : ip + 40]
        protocol = {11: UDP, 13: TCP}[instruction["l4_type"]]
        at = l4 + (6 if protocol == UDP else 16)
        frame[at : at + 2] = b"\0\0"
        pseudo = bytes(addresses) + protocol.to_bytes(4, "big") + (end - l4).to_bytes(4, "big")
        result = internet_checksum(pseudo + bytes(frame[l4:end]))
        frame[at : at + 2] = result if protocol == TCP or result != b"\0\0" else b"\xff\xff"


def internet_checksum(data: bytes) -> bytes:
    """Return the checksum of RFC 1071."""
    if len(data) % 2:
        data = bytes(data) + b"\0"
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF).to_bytes(2, "big")
