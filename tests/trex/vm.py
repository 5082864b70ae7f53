"""The field engine: variables that change from frame to frame, and the fields that they are written to.

Source: TRex RPC server specification, `vm.instructions`.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.trex import headers
from tests.trex.params import Params
from tests.trex.wire import Refusal

SIZES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Instruction:
    """One valid instruction."""

    kind: str
    fields: dict[str, Any]


def read(requested: list[Any], frame_bytes: int) -> tuple[Instruction, ...]:
    """Read the instructions of a stream. Raises Refusal."""
    sizes: dict[str, int] = {}
    result = []
    for fields in requested:
        if not isinstance(fields, dict):
            raise Refusal("instruction is not an object", -32602)
        params = Params(fields)
        kind = params.text("type")
        if kind not in READERS:
            raise Refusal(f"field 'type' value '{kind}' is not an instruction", -32602)
        instruction = Instruction(kind, READERS[kind](params))
        _check_place(instruction, frame_bytes)
        if kind in ("write_flow_var", "write_mask_flow_var", "trim_pkt_size"):
            name = instruction.fields["name"]
            if name not in sizes:
                raise Refusal(f"variable '{name}' does not exist")
            instruction.fields.setdefault("size", sizes[name])
        elif kind == "tuple_flow_var":
            sizes |= {f"{instruction.fields['name']}.ip": 4, f"{instruction.fields['name']}.port": 2}
        elif "name" in instruction.fields:
            sizes[instruction.fields["name"]] = instruction.fields["size"]
        result.append(instruction)
    return tuple(result)


def frames(frame: bytes, instructions: tuple[Instruction, ...], seed: int, count_max: int) -> Iterator[bytes]:
    """Return frames until they repeat, `count_max` at most."""
    if not instructions:
        yield frame
        return
    variables = _variables(instructions, seed)
    count = min(count_max, math.lcm(*(variable.period for variable in variables.values())))
    template = bytearray(frame)
    for number in range(count):
        values = {name: variable.value(number) for name, variable in variables.items()}
        yield _overlay(bytearray(template), instructions, values)


@dataclass(frozen=True)
class Variable:
    """Values in order; each stays for `every` frames."""

    values: range | list[int]
    every: int = 1

    @property
    def period(self) -> int:
        """Frames after which the values repeat."""
        return len(self.values) * self.every

    def value(self, number: int) -> int:
        """Return the value in the frame of this number, from 0."""
        return self.values[number // self.every % len(self.values)]


def _variables(instructions: tuple[Instruction, ...], seed: int) -> dict[str, Variable]:
    result: dict[str, Variable] = {}
    every: dict[str, int] = {}
    for instruction in instructions:
        fields = instruction.fields
        if instruction.kind == "flow_var":
            its = Variable(_values(fields, seed), every.get(fields["name"], 1))
            result[fields["name"]] = its
            if fields["next_var"]:
                every[fields["next_var"]] = its.period
        elif instruction.kind == "flow_var_rand_limit":
            result[fields["name"]] = Variable(_random_values(fields, fields["seed"], fields["limit"]))
        elif instruction.kind == "tuple_flow_var":
            addresses = range(fields["ip_min"], fields["ip_max"] + 1)
            ports = range(fields["port_min"], fields["port_max"] + 1)
            result[fields["name"] + ".ip"] = Variable(addresses)
            result[fields["name"] + ".port"] = Variable(ports, len(addresses))
    return result


def _values(fields: dict[str, Any], seed: int) -> range | list[int]:
    if fields["value_list"]:
        return list(fields["value_list"])
    low, high, step = fields["min_value"], fields["max_value"], fields["step"]
    if fields["op"] == "random":
        return _random_values(fields, seed, 65536)
    # The range is widened to a whole number of steps, upwards or downwards; values beyond one end wrap to the other.
    count = -(-(high - low + 1) // step)
    width = count * step
    if fields["op"] == "inc":
        first = fields["init_value"] - low
        return [low + (first + turn * step) % width for turn in range(count)]
    first = high - fields["init_value"]
    return [high - (first + turn * step) % width for turn in range(count)]


def _random_values(fields: dict[str, Any], seed: int, count: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.randint(fields["min_value"], fields["max_value"]) for _ in range(count)]


def _overlay(frame: bytearray, instructions: tuple[Instruction, ...], values: dict[str, int]) -> bytes:
    for instruction in instructions:
        fields = instruction.fields
        match instruction.kind:
            case "write_flow_var":
                _write(frame, fields, values[fields["name"]])
            case "write_mask_flow_var":
                _write_mask(frame, fields, values[fields["name"]])
            case "fix_checksum_ipv4":
                headers.fix_ipv4(frame, fields["pkt_offset"])
            case "fix_checksum_hw":
                ip, transport = fields["l2_len"], fields["l2_len"] + fields["l3_len"]
                if frame[ip] >> 4 == 4:
                    headers.fix_ipv4(frame, ip)
                headers.fix_transport(frame, ip, transport, {11: headers.UDP, 13: headers.TCP}[fields["l4_type"]])
            case "fix_checksum_icmpv6":
                ip, transport = fields["l2_len"], fields["l2_len"] + fields["l3_len"]
                headers.fix_transport(frame, ip, transport, headers.ICMPV6)
            case "trim_pkt_size":
                del frame[values[fields["name"]] :]
    return bytes(frame)


def _write(frame: bytearray, fields: dict[str, Any], value: int) -> None:
    size = fields["size"]
    order = "big" if fields["is_big_endian"] else "little"
    text = (value + fields["add_value"]) % (1 << 8 * size)
    frame[fields["pkt_offset"] : fields["pkt_offset"] + size] = text.to_bytes(size, order)  # type: ignore[arg-type]


def _write_mask(frame: bytearray, fields: dict[str, Any], value: int) -> None:
    size, place, shift = fields["pkt_cast_size"], fields["pkt_offset"], fields["shift"]
    order = "big" if fields["is_big_endian"] else "little"
    value = (value + fields["add_value"]) % (1 << 64)
    value = value << shift if shift >= 0 else value >> -shift
    before = int.from_bytes(frame[place : place + size], order)  # type: ignore[arg-type]
    after = (before & ~fields["mask"] | value & fields["mask"]) % (1 << 8 * size)
    frame[place : place + size] = after.to_bytes(size, order)  # type: ignore[arg-type]


def _flow_var(params: Params) -> dict[str, Any]:
    size = _size(params)
    high = (1 << 8 * size) - 1
    fields = {
        "name": params.text("name"),
        "size": size,
        "op": params.one_of("op", ("inc", "dec", "random")),
        "step": params.integer("step", 1),
        "value_list": params.list("value_list", []),
        "next_var": params.text("next_var", ""),
    }
    params.flag("split_to_cores", True)
    if fields["step"] == 0:
        raise Refusal("step cannot be 0")
    if fields["value_list"]:
        return fields
    for name in ("init_value", "min_value", "max_value"):
        fields[name] = params.integer(name, high=high)
    if not fields["min_value"] <= fields["init_value"] <= fields["max_value"]:
        raise Refusal("init value is not between minimum and maximum")
    return fields


def _rand_limit(params: Params) -> dict[str, Any]:
    high = (1 << 8 * _size(params)) - 1
    limit = params.integer("limit", low=1)
    low, top = params.integer("min_value", 0, high=high), params.integer("max_value", high, high=high)
    seed = params.integer("seed", 0)
    return {
        "name": params.text("name"),
        "size": _size(params),
        "limit": limit,
        "seed": seed,
        "min_value": low,
        "max_value": top,
    }


def _tuple_flow_var(params: Params) -> dict[str, Any]:
    fields: dict[str, Any] = {name: params.integer(name, high=2**32 - 1) for name in ("ip_min", "ip_max")}
    fields |= {name: params.integer(name, high=2**16 - 1) for name in ("port_min", "port_max")}
    params.integer("limit_flows", high=2**32 - 1)
    params.integer("flags", high=2**16 - 1)
    return fields | {"name": params.text("name")}


def _write_flow_var(params: Params) -> dict[str, Any]:
    return {
        "name": params.text("name"),
        "pkt_offset": params.integer("pkt_offset", high=2**16 - 1),
        "add_value": params.integer("add_value", low=-(2**63)),
        "is_big_endian": params.flag("is_big_endian"),
    }


def _write_mask_flow_var(params: Params) -> dict[str, Any]:
    size = params.integer("pkt_cast_size", high=4)
    if size not in (1, 2, 4):
        raise Refusal("packet cast size must be 1, 2 or 4")
    return _write_flow_var(params) | {
        "pkt_cast_size": size,
        "mask": params.integer("mask", high=2**32 - 1),
        "shift": params.integer("shift", low=-64, high=64),
    }


def _fix_ipv4(params: Params) -> dict[str, Any]:
    return {"pkt_offset": params.integer("pkt_offset", high=2**16 - 1)}


def _fix_hw(params: Params) -> dict[str, Any]:
    kind = params.integer("l4_type", high=255)
    if kind not in (11, 13):
        raise Refusal(f"bad l4_type {kind}, it must be 11 (UDP) or 13 (TCP)")
    return _fix_icmpv6(params) | {"l4_type": kind}


def _fix_icmpv6(params: Params) -> dict[str, Any]:
    return {name: params.integer(name, high=2**16 - 1) for name in ("l2_len", "l3_len")}


def _trim(params: Params) -> dict[str, Any]:
    return {"name": params.text("name")}


READERS = {
    "flow_var": _flow_var,
    "flow_var_rand_limit": _rand_limit,
    "tuple_flow_var": _tuple_flow_var,
    "write_flow_var": _write_flow_var,
    "write_mask_flow_var": _write_mask_flow_var,
    "fix_checksum_ipv4": _fix_ipv4,
    "fix_checksum_hw": _fix_hw,
    "fix_checksum_icmpv6": _fix_icmpv6,
    "trim_pkt_size": _trim,
}


def _size(params: Params) -> int:
    size = params.integer("size", high=8)
    if size not in SIZES:
        raise Refusal(f"bad variable size {size}, it must be 1, 2, 4 or 8")
    return size


def _check_place(instruction: Instruction, frame_bytes: int) -> None:
    fields = instruction.fields
    end = fields.get("pkt_offset", 0) + fields.get("pkt_cast_size", 0)
    end = max(end, fields.get("l2_len", 0) + fields.get("l3_len", 0))
    if end >= frame_bytes:
        raise Refusal(f"instruction '{instruction.kind}' writes behind the packet's end ({frame_bytes} bytes)")
