"""Malformed configurations, derived from valid ones by a seed, so that each is reproducible.

`bodies` returns mappings, as a REST client sends them; `texts` returns files. Each has one error, which it names.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

VALID: tuple[dict[str, Any], ...] = (
    {
        "profile": "quick",
        "sut": "vnf-l3",
        "chains": 2,
        "hops": 1,
        "frame_bytes": 128,
        "flow_count": "10k",
        "bidirectional": True,
        "goals": {"NDR": 0, "PDR": "0.5%"},
        "search": {"width": "1%", "max_load": "2Mpps", "min_load": 1000, "budget": "60s", "algorithm": "binary"},
        "latency": {"enabled": True, "trial_duration": "1s", "percentiles": [50, 99]},
        "engine": {"cores": [0], "queue_slots": 4096, "backend": "af_packet"},
        "traffic": {"transport": "udp", "dscp": 46, "imix": {64: 7, 594: 4, 1518: 1}},
    },
    {
        "rate": "10kpps",
        "duration": 0.5,
        "interval": "100ms",
        "frame_sizes": [64, "IMIX"],
        "networks": "vlan",
        "vlans": [[100, 101], [200, 201]],
        "chains": 2,
        "flows": {"ip": ["10.0.0.0/8", "20.0.0.0/8"], "udp_source": [1024, 2048], "udp_step": 1, "seed": 7},
        "gateways": {"tester": ["192.168.1.100", "192.168.2.100"], "sut": ["192.168.1.1", "192.168.2.1"]},
        "neighbors": {"tries": 3, "timeout": "1s"},
        "pattern": {"kind": "burst", "duty": "25%", "period": "100ms"},
    },
    {
        "service_chain": "PVVP",
        "service_chain_count": 3,
        "service_chain_shared_net": False,
        "vm_forwarder": "testpmd",
        "flow_count": 10000,
        "rate": "ndr_pdr",
        "duration_sec": 10,
        "interval_sec": 1,
        "pause_sec": 2,
        "measurement": {"NDR": 0.001, "PDR": 0.1, "load_epsilon": 0.1},
        "traffic": {"bidirectional": True, "profile": "traffic_profile_64B"},
        "vlan_tagging": True,
        "lat_percentiles": [25, 75, 99],
        "generic_retry_count": 10,
    },
    {
        "service_chain": "EXT",
        "l2_loopback": False,
        "vlans": [1998, 1999],
        "no_arp": True,
        "idle_interfaces_per_vm": 0,
        "traffic_generator": {
            "ip_addrs": ["10.0.0.0/8", "20.0.0.0/8"],
            "ip_addrs_step": "0.0.0.1",
            "udp_src_port": [1024, 65000],
            "udp_port_step": "1",
            "src_vteps": ["10.0.0.1", "10.0.0.2"],
            "mac_addrs_left": ["00:00:00:00:00:01"],
            "mac_addrs_right": ["00:00:00:00:00:02"],
        },
        "internal_networks": {"left": {"segmentation_id": 100}, "right": {"segmentation_id": 200}},
        "intf_speed": "10Gbps",
    },
)
"""Valid configurations, in nodrop's keys and in NFVbench's."""

WHOLE = {("goals",), ("traffic", "imix")}
TEXTUAL = {"rate", "user_label", "host_name"}
"""Keys that take almost any text."""

Key = tuple[str, ...]


class Malformed(NamedTuple):
    """A configuration with an error."""

    body: dict[str, Any]
    where: str
    """The wrong key, without those above it."""


class MalformedText(NamedTuple):
    """A file with an error."""

    text: str
    where: str
    """The wrong key, or `line`: a message must name it."""


def bodies(count: int, seed: int) -> Iterator[Malformed]:
    """Return so many mappings, each with one error."""
    draw = random.Random(seed)
    for number in range(count):
        body = copy.deepcopy(VALID[number % len(VALID)])
        key = draw.choice(list(_leaves(body, ())))
        yield draw.choice((_misspell, _wrong_kind, _out_of_range, _too_deep))(draw, body, key)


def texts(count: int, seed: int) -> Iterator[MalformedText]:
    """Return so many files, three in four of them made from `bodies`, the others no YAML of keys with values."""
    draw = random.Random(seed)
    for malformed in bodies(count, seed):
        if draw.random() < 0.25:
            yield draw.choice(BREAKS)(draw, copy.deepcopy(draw.choice(VALID)))
        elif draw.random() < 0.5:
            yield MalformedText(yaml.safe_dump(malformed.body, sort_keys=False), malformed.where)
        else:
            yield MalformedText(json.dumps(malformed.body, indent=2), malformed.where)


def _leaves(body: dict[str, Any], above: Key) -> Iterator[Key]:
    for key, value in body.items():
        path = (*above, key)
        if isinstance(value, dict) and path not in WHOLE:
            yield from _leaves(value, path)
        else:
            yield path


def _room(body: dict[str, Any], key: Key) -> dict[str, Any]:
    for part in key[:-1]:
        body = body[part]
    return body


def _misspell(draw: random.Random, body: dict[str, Any], key: Key) -> Malformed:
    """Omit, double or replace a letter of a key."""
    name = key[-1]
    at = draw.randrange(len(name))
    wrong = draw.choice((name[:at] + name[at + 1 :] + "x", name[: at + 1] + name[at:], f"{name[:at]}q{name[at + 1 :]}"))
    wrong = wrong if wrong != name else f"{name}x"
    room = _room(body, key)
    items = [(wrong if each == name else each, value) for each, value in room.items()]
    room.clear()
    room.update(items)
    return Malformed(body, wrong)


def _wrong_kind(draw: random.Random, body: dict[str, Any], key: Key) -> Malformed:
    """Replace a value by keys, lists, truth values or nonsense."""
    room = _room(body, key)
    wrongs: list[Any] = [{"surprise": 1}, [{"surprise": 1}], ["a", ["b"], 3]]
    if not isinstance(room[key[-1]], bool) and key[-1] != "l2_loopback":
        wrongs += [True, [False]]
    if key[-1] not in TEXTUAL:
        wrongs += ["no such thing", "§$%", "12 parsecs"]
    room[key[-1]] = draw.choice(wrongs)
    return Malformed(body, key[-1])


def _out_of_range(draw: random.Random, body: dict[str, Any], key: Key) -> Malformed:
    """Replace a value by a number that no key takes."""
    if key[-1] in TEXTUAL:
        return _misspell(draw, body, key)
    room = _room(body, key)
    room[key[-1]] = draw.choice((-1e300, -(10**40), 10**40, 1e300, "-5", "1e999", float("nan"), float("inf"), -0.5))
    return Malformed(body, key[-1])


def _too_deep(draw: random.Random, body: dict[str, Any], key: Key) -> Malformed:
    """Nest a value in many levels."""
    deep: Any = 1
    for _ in range(draw.randrange(30, 300)):
        deep = {"deeper": deep} if draw.random() < 0.5 else [deep]
    _room(body, key)[key[-1]] = deep
    return Malformed(body, "levels")


def _truncate(draw: random.Random, body: dict[str, Any]) -> MalformedText:
    """Cut off the end of the file."""
    text = json.dumps(body)
    return MalformedText(text[: draw.randrange(2, len(text) - 1)], "line")


def _repeat_key(draw: random.Random, body: dict[str, Any]) -> MalformedText:
    """Repeat a key."""
    name = draw.choice(list(body))
    return MalformedText(f"{yaml.safe_dump(body, sort_keys=False)}{name}: 1\n", name)


def _tabs(draw: random.Random, body: dict[str, Any]) -> MalformedText:
    """Begin a line with a tab."""
    lines = yaml.safe_dump(body, sort_keys=False).splitlines()
    at = draw.randrange(1, len(lines))
    return MalformedText("\n".join([*lines[:at], f"\t{lines[at].lstrip()}", *lines[at + 1 :]]), "line")


def _control(draw: random.Random, body: dict[str, Any]) -> MalformedText:
    """Insert a byte that no text contains."""
    text = yaml.safe_dump(body, sort_keys=False)
    at = draw.randrange(len(text))
    return MalformedText(text[:at] + draw.choice("\x00\x01\x1b\x7f") + text[at:], "line")


def _append_document(draw: random.Random, body: dict[str, Any]) -> MalformedText:
    """Insert another document, an undefined alias, a tag that runs code, a list."""
    text = yaml.safe_dump(body, sort_keys=False)
    tag = "!!python/object/apply:os.system"
    return MalformedText(
        draw.choice(
            (
                f"{text}---\n{text}",
                f"{text}label: *nowhere\n",
                f"{text}label: {tag} ['touch broken']\n",
                f"{text}label: &again {{a: *again}}\n",
                f"{text}label: {'[' * 500}\n",
                f"{text}: : :\n",
            )
        ),
        "line",
    )


BREAKS = (_truncate, _repeat_key, _tabs, _control, _append_document)
