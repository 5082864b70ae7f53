"""NFVbench's command line in `nodrop run`: one table of the options with their help and configuration keys.

A flag sets NFVbench's own configuration key, so it has the same meaning as the key in a configuration file. Actions
other than a run (`--status`, `--server`, `--show-...`) are in nfvbench_actions.py.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import SERVICE_CHAIN
from nodrop.cli.frame_bytes import FRAME_BYTES_MIN, format_raise_note
from nodrop.cli.help_sections import GroupedOption
from nodrop.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])
PREFIX = "nfvbench_"
"""Prefix of the arguments of the command's function."""
TRAFFIC, PATH, OUTPUT, ACTIONS, GENERATOR = (
    "NFVbench's options: traffic and rates",
    "NFVbench's options: path",
    "NFVbench's options: output",
    "NFVbench's options: actions other than a run",
    "NFVbench's options: generator and OpenStack",
)


class NfvbenchFlag(NamedTuple):
    """A flag of NFVbench."""

    names: str
    """Short forms first, e.g. `-fc --flow-count`."""
    group: str
    help: str
    key: str = ""
    """The configuration key it sets; empty for an action."""
    metavar: str = ""
    """Placeholder of the value; empty for a flag without a value."""
    value: Any = True
    """Value of the key for a flag without a value."""
    kind: Any = None
    """click type of the value."""
    many: bool = False
    """Whether the flag may be repeated."""
    note: str = ""
    """Message on standard error if the flag is used."""
    is_old: bool = False
    """Whether it is an old spelling, hidden in the help."""

    @property
    def argument(self) -> str:
        """Argument name of the command's function."""
        return PREFIX + self.names.split()[-1].lstrip("-").replace("-", "_")

    @property
    def name(self) -> str:
        """The long form."""
        return self.names.split()[-1]


class DecimalOrHex(click.types.IntParamType):
    """An integer, decimal or hexadecimal."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Convert the text to a number."""
        try:
            return value if isinstance(value, int) else int(value, 0)
        except ValueError:
            self.fail(f"{value!r} is not an integer; use e.g. 255 or 0xff", param, ctx)


FLAGS = (
    NfvbenchFlag("--rate", TRAFFIC, "ndr, pdr, ndr_pdr, or a fixed rate, e.g. 10kpps.", "rate", "RATE"),
    NfvbenchFlag("--duration", TRAFFIC, "Duration of every trial, in seconds.", "duration_sec", "S"),
    NfvbenchFlag("--interval", TRAFFIC, "Report interval at a fixed rate, in seconds.", "interval_sec", "S"),
    NfvbenchFlag("-fs --frame-size", TRAFFIC, "Bytes or IMIX, e.g. 64,512,IMIX; one run each.", "frame_sizes",
         "SIZE", many=True),
    NfvbenchFlag("-fc --flow-count", TRAFFIC, "Number of flows, e.g. 100k.", "flow_count", "N[k|M|G]"),
    NfvbenchFlag("--unidir", TRAFFIC, "Send in one direction only.", "traffic.bidirectional", value=False),
    NfvbenchFlag("-garp --gratuitous-arp", TRAFFIC, "Send gratuitous ARP during traffic.", "periodic_gratuitous_arp"),
    NfvbenchFlag("--no-arp", TRAFFIC, "Do not resolve MAC addresses.", "no_arp"),
    NfvbenchFlag("--no-e2e-check", TRAFFIC, "Skip the end-to-end check.", "no_e2e_check"),
    NfvbenchFlag("-0 --no-traffic", TRAFFIC, "Set up and check the path without measuring.", "no_traffic"),
    NfvbenchFlag("-sc --service-chain", PATH, "PVP: one forwarder, PVVP: two, EXT: external SUT.", "service_chain",
         "[PVP|PVVP|EXT]", kind=SERVICE_CHAIN),
    NfvbenchFlag("-scc --service-chain-count", PATH, "Parallel chains.", "service_chain_count", "N", kind=int),
    NfvbenchFlag("--l2-loopback", PATH, "External loopback: true, false, no-tag or VLANs.",
         "l2_loopback", "VLANS"),
    NfvbenchFlag("--vlan-tagging", PATH, "Separate chains by VLAN tags.", "vlan_tagging", "BOOL", kind=bool),
    NfvbenchFlag("--vxlan", PATH, "Encapsulate in VXLAN.", "vxlan"),
    NfvbenchFlag("--mpls", PATH, "Encapsulate in MPLS with two labels.", "mpls"),
    NfvbenchFlag("-l3 --l3-router", PATH, "Add routers between ports and forwarders.", "l3_router"),
    NfvbenchFlag("--loop-vm-arp", PATH, "Forwarders resolve the tester's MAC addresses.", "loop_vm_arp"),
    NfvbenchFlag("--user-label", OUTPUT, "Label of the run.", "user_label", "TEXT"),
    NfvbenchFlag("--user-info", OUTPUT, "Data to store with the result; repeatable, merged.", "user_info", "JSON",
         many=True),
    NfvbenchFlag("--std-json", OUTPUT, "Write NFVbench's JSON to DIR under its standard name.", "std_json", "DIR"),
    NfvbenchFlag("--log-file", OUTPUT, "Also log to FILE.", "log_file", "FILE"),
    NfvbenchFlag("-d --debug", OUTPUT, "Log more.", "debug"),
    NfvbenchFlag("--user-id", OUTPUT, "Owner of output files.", "user_id", "N", kind=int),
    NfvbenchFlag("--group-id", OUTPUT, "Group of output files.", "group_id", "N", kind=int),
    NfvbenchFlag("--service-mode", OUTPUT, "Enable TRex service mode; without TRex, capture frames.", "service_mode"),
    NfvbenchFlag("--status", ACTIONS, "Same as `nodrop status`."),
    NfvbenchFlag("--cleanup", ACTIONS, "Same as `nodrop cleanup`."),
    NfvbenchFlag("--force-cleanup", ACTIONS, "Same as `nodrop cleanup --force`."),
    NfvbenchFlag("--server", ACTIONS, "Same as `nodrop serve`."),
    NfvbenchFlag("--host", ACTIONS, "Address of the REST server.  [default: 127.0.0.1]", "", "ADDRESS"),
    NfvbenchFlag("-p --port", ACTIONS, "Port of the REST server.  [default: 7555]", "", "N", kind=int),
    NfvbenchFlag("--show-config", ACTIONS, "Same as `nodrop config show`."),
    NfvbenchFlag("--show-pre-config", ACTIONS, "Same, without the other flags."),
    NfvbenchFlag("--show-default-config", ACTIONS, "Same as `nodrop config default`."),
    NfvbenchFlag("-ss --show-summary", ACTIONS, "Same as `nodrop show FILE`.", "", "FILE"),
    NfvbenchFlag("--show-trex-log", ACTIONS, "Print the log of TRex."),
    NfvbenchFlag("-v --version", ACTIONS, "Print the version."),
    NfvbenchFlag("--intf-speed", GENERATOR, "Line rate, e.g. 10Gbps.", "intf_speed", "SPEED"),
    NfvbenchFlag("--no-latency-streams", GENERATOR, "Do not measure latency.", "no_latency_streams"),
    NfvbenchFlag("--no-latency-stats", GENERATOR, "Do not measure latency.", "no_latency_stats"),
    NfvbenchFlag("--no-flow-stats", GENERATOR, "Use port counters of TRex only.", "no_flow_stats"),
    NfvbenchFlag("--no-vswitch-access", GENERATOR, "No effect.", "no_vswitch_access"),
    NfvbenchFlag("--no-cleanup", GENERATOR, "Keep cloud resources for the next run.", "no_cleanup"),
    NfvbenchFlag("-g --traffic-gen", GENERATOR, "Generator profile.", "traffic_generator.default_profile", "NAME"),
    NfvbenchFlag("--cores", GENERATOR, "Number of generator CPUs.", "cores", "N", kind=int),
    NfvbenchFlag("--cache-size", GENERATOR, "Frames per stream that TRex precomputes.", "cache_size", "N", kind=int),
    NfvbenchFlag("--restart", GENERATOR, "Restart a running TRex.", "restart"),
    NfvbenchFlag("--i40e-mixed", GENERATOR, "TRex's handling of i40e ports of the kernel.", "i40e_mixed",
         "[ignore|check|unbind]",
         kind=Choice(["ignore", "check", "exit", "unbind"])),
    NfvbenchFlag("--debug-mask", GENERATOR, "TRex debug mask.", "debug_mask", "N", kind=DecimalOrHex()),
    NfvbenchFlag("-r --openrc", GENERATOR, "openrc file of the cloud.", "openrc_file", "FILE"),
    NfvbenchFlag("--hypervisor", GENERATOR, "Placement of VMs: node, `zone:` or `zone:node`.", "compute_nodes", "NODE"),
    NfvbenchFlag("--sriov", GENERATOR, "Use SR-IOV ports for VMs.", "sriov"),
    NfvbenchFlag("--use-sriov-middle-net", GENERATOR, "Use SR-IOV between two VMs.", "use_sriov_middle_net"),
    NfvbenchFlag("--inter-node", GENERATOR, "No effect, as in NFVbench.",
         note="has no effect, as in NFVbench; remove it"),
    NfvbenchFlag("--logfile", OUTPUT, "", "log_file", "FILE", note="deprecated spelling; use --log-file", is_old=True),
    NfvbenchFlag("--userlabel", OUTPUT, "", "user_label", "TEXT", note="deprecated spelling; use --user-label",
         is_old=True),
    NfvbenchFlag("--l2loopback", PATH, "", "l2_loopback", "VLANS",
         note="deprecated spelling; use --l2-loopback", is_old=True),
    NfvbenchFlag("--show-json-config", ACTIONS, "", note="deprecated spelling; use --show-config", is_old=True),
)  # fmt: skip
"""All flags of NFVbench 5 and its manual except `--config`, `--json` and `--help`, which `nodrop run` itself has."""


TRAFFIC_KEYS = ("rate", "duration_sec", "frame_sizes", "flow_count")
"""Keys of the flags that also make sense where two setups are compared."""


def nfvbench_options(command: Command) -> Command:
    """Add all flags of NFVbench."""
    return _add_flags(command, FLAGS)


def traffic_options(command: Command) -> Command:
    """Add the flags of NFVbench that set rate, duration, frame size and flows."""
    return _add_flags(command, [flag for flag in FLAGS if flag.key in TRAFFIC_KEYS])


def _add_flags(command: Command, flags: Sequence[NfvbenchFlag]) -> Command:
    for flag in reversed(flags):
        command = _make_option(flag)(command)
    return command


def _make_option(flag: NfvbenchFlag) -> Callable[[Command], Command]:
    if flag.metavar:
        attributes = {"metavar": flag.metavar, "type": flag.kind or str, "multiple": flag.many}
    else:
        attributes = {"is_flag": True}
    return click.option(
        *flag.names.split(),
        flag.argument,
        cls=GroupedOption,
        group=flag.group,
        help=flag.help,
        hidden=flag.is_old,
        **attributes,
    )


def iter_set_flags(flags: Mapping[str, Any]) -> Iterator[tuple[NfvbenchFlag, Any]]:
    """Yield the given flags of NFVbench with their values."""
    for flag in FLAGS:
        value = flags.get(flag.argument)
        if value not in (None, False, ()) or (flag.metavar and value is False):
            yield flag, value


def collect_nfvbench_keys(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given flags by NFVbench's configuration keys. Raises ConfigError for invalid JSON."""
    keys: dict[str, Any] = {}
    for flag, value in iter_set_flags(flags):
        if flag.key == "user_info":
            keys[flag.key] = _merge_objects(value)
        elif flag.key == "frame_sizes":
            keys[flag.key] = [_parse_size(size) for size in _split_sizes(value)]
        elif flag.key:
            keys[flag.key] = value if flag.metavar else flag.value
    return keys


def collect_notes(flags: Mapping[str, Any], json_file: str | None) -> Iterator[str]:
    """Yield messages about given flags that are deprecated, without effect or ambiguous."""
    used = [flag for flag, _ in iter_set_flags(flags)]
    yield from (f"{flag.name}: {flag.note}" for flag in used if flag.note)
    for size in _split_sizes(flags.get(f"{PREFIX}frame_size", ())):
        if size.isdecimal() and int(size) < FRAME_BYTES_MIN:
            yield format_raise_note("--frame-size", int(size))
    if json_file and used:
        yield f"--json: {json_file} contains nodrop's own form; for NFVbench's form use --nfvbench-json FILE"


def _split_sizes(values: Iterable[str]) -> Iterator[str]:
    """Yield the sizes of a repeated flag, each of which may list several: `64,IMIX`."""
    yield from (size.strip() for value in values for size in value.split(",") if size.strip())


def _parse_size(text: str) -> int | str:
    """Return a frame size, raised to the Ethernet minimum as NFVbench does."""
    return max(FRAME_BYTES_MIN, int(text)) if text.isdecimal() else text


def _merge_objects(texts: tuple[str, ...]) -> dict[str, Any]:
    """Merge JSON objects key by key; later ones take precedence."""
    merged: dict[str, Any] = {}
    for text in texts:
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise ConfigError(
                f"command line: --user-info: {text!r} is not a JSON object; "
                """use e.g. --user-info '{"status": "explore"}'"""
            )
        _merge(merged, content)
    return merged


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            _merge(below[key], value)
        else:
            below[key] = value
