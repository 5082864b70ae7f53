"""NFVbench's command line as `nodrop run` takes it: one table, from which come the options, their help and their keys.

A flag sets NFVbench's own configuration key, so that it means what the same key means in a configuration file. What
NFVbench does instead of a run (`--status`, `--server`, `--show-...`) is in `nfvbench_instead.py`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import click

from nodrop.cli.completion_types import SERVICE_CHAIN
from nodrop.cli.help_sections import GroupedOption
from nodrop.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])
PREFIX = "nfvbench_"
"""Of the names under which the command's function gets these flags."""
FRAME_BYTES_MIN = 64
TRAFFIC, PATH, OUTPUT, INSTEAD, KEPT = (
    "NFVbench's options: traffic and rates",
    "NFVbench's options: what is measured",
    "NFVbench's options: what is written",
    "NFVbench's options: instead of a run",
    "NFVbench's options: of its generator and of OpenStack",
)


class Flag(NamedTuple):
    """A flag of NFVbench."""

    names: str
    """Short forms first, as `-fc --flow-count`."""
    group: str
    help: str
    key: str = ""
    """The configuration key it sets; none for what is done instead of a run, or says only something."""
    metavar: str = ""
    """What stands for its value in the help; a flag without one takes no value."""
    value: Any = True
    """What the key is set to by a flag that takes no value."""
    kind: Any = None
    """Type of the value, for click."""
    many: bool = False
    """Whether it may be given several times."""
    note: str = ""
    """What to say, on standard error, when it was used."""
    is_old: bool = False
    """An old spelling, not in the help."""

    @property
    def argument(self) -> str:
        """The name under which the command's function gets it."""
        return PREFIX + self.names.split()[-1].lstrip("-").replace("-", "_")

    @property
    def name(self) -> str:
        """Its long form."""
        return self.names.split()[-1]


class WholeNumber(click.types.IntParamType):
    """An int, also written in hexadecimal."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Fails as click wants it to."""
        try:
            return value if isinstance(value, int) else int(value, 0)
        except ValueError:
            self.fail(f"{value!r} is not a whole number; write for example 255 or 0xff", param, ctx)


FLAGS = (
    Flag("--rate", TRAFFIC, "ndr, pdr, ndr_pdr, or a fixed rate as 10kpps, 1Gbps, 50%.", "rate", "RATE"),
    Flag("--duration", TRAFFIC, "Seconds that every trial lasts, at a fixed rate or in a search.", "duration_sec", "S"),
    Flag("--interval", TRAFFIC, "Seconds between lines on a fixed-rate run; 0 for none.", "interval_sec", "S"),
    Flag("-fs --frame-size", TRAFFIC, "Bytes, or IMIX; repeated: one run each.", "frame_sizes", "SIZE", many=True),
    Flag("-fc --flow-count", TRAFFIC, "Flows over all chains, both ways, as 100k.", "flow_count", "N[k|M|G]"),
    Flag("--unidir", TRAFFIC, "Send from left to right only.", "traffic.bidirectional", value=False),
    Flag("-garp --gratuitous-arp", TRAFFIC, "Announce addresses while traffic flows.", "periodic_gratuitous_arp"),
    Flag("--no-arp", TRAFFIC, "Ask nobody for MAC addresses.", "no_arp"),
    Flag("--no-e2e-check", TRAFFIC, "Leave out the end-to-end check before traffic.", "no_e2e_check"),
    Flag("-0 --no-traffic", TRAFFIC, "Bring everything up, check that it works, measure nothing.", "no_traffic"),
    Flag("-sc --service-chain", PATH, "PVP: one forwarder; PVVP: two; EXT: one that is there.", "service_chain",
         "[PVP|PVVP|EXT]", kind=SERVICE_CHAIN),
    Flag("-scc --service-chain-count", PATH, "Parallel chains.", "service_chain_count", "N", kind=int),
    Flag("--l2-loopback", PATH, "Ports joined outside: true, false, no-tag, or VLANs, as 100,101_200,201.",
         "l2_loopback", "VLANS"),
    Flag("--vlan-tagging", PATH, "Whether chains are told apart by VLAN tags.", "vlan_tagging", "BOOL", kind=bool),
    Flag("--vxlan", PATH, "Send in VXLAN.", "vxlan"),
    Flag("--mpls", PATH, "Send in MPLS, with two labels.", "mpls"),
    Flag("-l3 --l3-router", PATH, "Routers between the ports and the forwarders.", "l3_router"),
    Flag("--loop-vm-arp", PATH, "Forwarders ask for the tester's MAC addresses.", "loop_vm_arp"),
    Flag("--user-label", OUTPUT, "Label of the run, kept with its result.", "user_label", "TEXT"),
    Flag("--user-info", OUTPUT, "Anything to keep with the result; may be repeated, merged.", "user_info", "JSON",
         many=True),
    Flag("--std-json", OUTPUT, "NFVbench's form into DIR, under its usual file name.", "std_json", "DIR"),
    Flag("--log-file", OUTPUT, "Log to this file as well.", "log_file", "FILE"),
    Flag("-d --debug", OUTPUT, "Log more.", "debug"),
    Flag("--user-id", OUTPUT, "Whom written files belong to.", "user_id", "N", kind=int),
    Flag("--group-id", OUTPUT, "The group they belong to.", "group_id", "N", kind=int),
    Flag("--service-mode", OUTPUT, "Leave TRex ready to capture; without TRex, keep frames in a file.", "service_mode"),
    Flag("--status", INSTEAD, "`nodrop status`: what of nodrop is here, and in the cloud."),
    Flag("--cleanup", INSTEAD, "`nodrop cleanup`: take it away, after asking."),
    Flag("--force-cleanup", INSTEAD, "`nodrop cleanup --force`: take it away without asking."),
    Flag("--server", INSTEAD, "`nodrop serve`: the REST server."),
    Flag("--host", INSTEAD, "Address of the REST server.  [default: 127.0.0.1]", "", "ADDRESS"),
    Flag("-p --port", INSTEAD, "Port of the REST server.  [default: 7555]", "", "N", kind=int),
    Flag("--show-config", INSTEAD, "`nodrop config show`: the configuration in force."),
    Flag("--show-pre-config", INSTEAD, "The same, without the other flags."),
    Flag("--show-default-config", INSTEAD, "`nodrop config default`: every key, commented."),
    Flag("-ss --show-summary", INSTEAD, "`nodrop show FILE`: a stored result.", "", "FILE"),
    Flag("--show-trex-log", INSTEAD, "The log of the TRex that nodrop started last."),
    Flag("-v --version", INSTEAD, "The version."),
    Flag("--intf-speed", KEPT, "Speed that 100% is of, as 10Gbps.", "intf_speed", "SPEED"),
    Flag("--no-latency-streams", KEPT, "No latency.", "no_latency_streams"),
    Flag("--no-latency-stats", KEPT, "No latency.", "no_latency_stats"),
    Flag("--no-flow-stats", KEPT, "TRex counts its ports only.", "no_flow_stats"),
    Flag("--no-vswitch-access", KEPT, "Nothing: no plugin reads a vswitch.", "no_vswitch_access"),
    Flag("--no-cleanup", KEPT, "Leave what is staged in a cloud, for the next run.", "no_cleanup"),
    Flag("-g --traffic-gen", KEPT, "Which generator profile.", "traffic_generator.default_profile", "NAME"),
    Flag("--cores", KEPT, "CPUs of the generator: TRex's threads, or the first N.", "cores", "N", kind=int),
    Flag("--cache-size", KEPT, "Frames of each stream that TRex makes beforehand.", "cache_size", "N", kind=int),
    Flag("--restart", KEPT, "End a TRex that runs, and start it anew.", "restart"),
    Flag("--i40e-mixed", KEPT, "What TRex does about the kernel's i40e ports.", "i40e_mixed", "[ignore|check|unbind]",
         kind=click.Choice(["ignore", "check", "exit", "unbind"])),
    Flag("--debug-mask", KEPT, "TRex debugging.", "debug_mask", "N", kind=WholeNumber()),
    Flag("-r --openrc", KEPT, "OpenStack's openrc file.", "openrc_file", "FILE"),
    Flag("--hypervisor", KEPT, "Where VMs run: a compute node, `zone:` or `zone:node`.", "compute_nodes", "NODE"),
    Flag("--sriov", KEPT, "VMs have SR-IOV ports.", "sriov"),
    Flag("--use-sriov-middle-net", KEPT, "SR-IOV between two VMs.", "use_sriov_middle_net"),
    Flag("--inter-node", KEPT, "Nothing; NFVbench takes it and does nothing either.",
         note="it means nothing any more, neither here nor in NFVbench; leave it out"),
    Flag("--logfile", OUTPUT, "", "log_file", "FILE", note="an old spelling; write --log-file", is_old=True),
    Flag("--userlabel", OUTPUT, "", "user_label", "TEXT", note="an old spelling; write --user-label", is_old=True),
    Flag("--l2loopback", PATH, "", "l2_loopback", "VLANS", note="an old spelling; write --l2-loopback", is_old=True),
    Flag("--show-json-config", INSTEAD, "", note="an old spelling; write --show-config", is_old=True),
)  # fmt: skip
"""Every flag of NFVbench 5 and of its manual but `--config`, `--json` and `--help`, which `nodrop run` has itself."""


def nfvbench_options(command: Command) -> Command:
    """Give a command all flags of NFVbench."""
    for flag in reversed(FLAGS):
        command = _option(flag)(command)
    return command


def _option(flag: Flag) -> Callable[[Command], Command]:
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


def given(flags: Mapping[str, Any]) -> Iterator[tuple[Flag, Any]]:
    """Every flag of NFVbench that was written, with its value."""
    for flag in FLAGS:
        value = flags.get(flag.argument)
        if value not in (None, False, ()) or (flag.metavar and value is False):
            yield flag, value


def nfvbench_keys(flags: Mapping[str, Any]) -> dict[str, Any]:
    """What was written, by NFVbench's configuration keys. Raises ConfigError for what is no JSON."""
    keys: dict[str, Any] = {}
    for flag, value in given(flags):
        if flag.key == "user_info":
            keys[flag.key] = _merged(value)
        elif flag.key == "frame_sizes":
            keys[flag.key] = [_size(size) for size in value]
        elif flag.key:
            keys[flag.key] = value if flag.metavar else flag.value
    return keys


def notes(flags: Mapping[str, Any], json_file: str | None) -> Iterator[str]:
    """What there is to say of flags that have another spelling by now, mean nothing here, or mean something else."""
    used = [flag for flag, _ in given(flags)]
    yield from (f"{flag.name}: {flag.note}" for flag in used if flag.note)
    for size in flags[f"{PREFIX}frame_size"]:
        if size.isdecimal() and int(size) < FRAME_BYTES_MIN:
            yield f"--frame-size: {size} asked; Ethernet has at least {FRAME_BYTES_MIN} bytes, which are sent"
    if json_file and used:
        yield f"--json: {json_file} holds nodrop's own result; NFVbench's form is --nfvbench-json FILE"


def _size(written: str) -> int | str:
    """Bytes, as NFVbench takes them: what is too little for Ethernet is the least it has."""
    return max(FRAME_BYTES_MIN, int(written)) if written.isdecimal() else written


def _merged(written: tuple[str, ...]) -> dict[str, Any]:
    """Objects one over the other, key by key."""
    merged: dict[str, Any] = {}
    for text in written:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ConfigError(
                f"command line: --user-info: {text!r} asked, a JSON object expected; "
                """write for example --user-info '{"status": "explore"}'"""
            )
        _merge(merged, found)
    return merged


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            _merge(below[key], value)
        else:
            below[key] = value
