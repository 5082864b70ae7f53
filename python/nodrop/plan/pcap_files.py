"""Capture files: the trials and frames that are captured to one, and streams of the frames of one."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nodrop.config.flows import FlowsConfig
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import Backend
from nodrop.model.engine_plan import CapturePlan
from nodrop.model.lab_plan import LabPlan
from nodrop.model.layer import Ethernet
from nodrop.model.traffic import Replay, ReplayContents, ReplaySource, Stream
from nodrop.plan.chain_ends import plan_chain_ends
from nodrop.plan.resolvers import CheckFilter, InspectReplay

REPLAY_KEYS = frozenset({"replay", "forward", "rx_shift"})
"""Keys of `traffic` that also apply to frames of a file."""
SYNTHETIC_KEYS = frozenset({"frame_bytes", "flow_count"})
"""Top-level keys that apply to synthetic frames only."""


class ReplayInput(NamedTuple):
    """A capture file and its contents."""

    source: ReplaySource
    contents: ReplayContents


def find_replay(config: Config, inspect: InspectReplay) -> ReplayInput | None:
    """Return the capture file to replay; None for synthetic frames. Raises ConfigError."""
    section = config.traffic.replay
    if section.file is None:
        without_file = sorted(section.model_fields_set - {"file"})
        if without_file:
            raise ConfigError(f"traffic.replay.{without_file[0]}: set without a file; write traffic.replay.file too")
        return None
    conflicting = sorted(SYNTHETIC_KEYS & config.model_fields_set)
    conflicting += ["flows"] if config.flows != FlowsConfig() else []
    conflicting += ["tunnel.kind"] if config.tunnel.kind != "none" else []
    conflicting += [f"traffic.{key}" for key in sorted(config.traffic.model_fields_set - REPLAY_KEYS)]
    if conflicting:
        raise ConfigError(
            f"traffic.replay.file and {conflicting[0]}: frames of a file are sent unchanged; remove {conflicting[0]}"
        )
    source = ReplaySource(
        file=str(Path(section.file).absolute()), filter=section.filter, frame_count_max=section.frames
    )
    return ReplayInput(source, inspect(source))


def build_replay_streams(config: Config, lab: LabPlan, replayed: ReplayInput) -> Iterator[Stream]:
    """Yield one stream for each direction of each chain; each sends all frames of the file."""
    source, contents = replayed
    shifted = itertools.product(contents.signature_offsets, config.traffic.rx_shift)
    rx_offsets = tuple(sorted({offset + shift for offset, shift in shifted}))
    replay = Replay(
        **source.model_dump(),
        macs=config.traffic.replay.macs,
        **contents.model_dump(exclude={"sizes", "signature_offsets"}),
    )
    ways = range(2 if config.bidirectional else 1)
    if any(end.tags for end in plan_chain_ends(config, lab)[0]):
        raise ConfigError(
            "traffic.replay.file: frames of a file lack the VLAN tags that distinguish the chains; write networks: "
            "ports, or use one chain"
        )
    for ends, way in itertools.product(plan_chain_ends(config, lab), ways):
        near, far = ends[way], ends[1 - way]
        forward = config.traffic.forward
        yield Stream(
            stream_id=2 * near.chain + way,
            tx_port=near.port,
            rx_port=far.port,
            chain=near.chain,
            share=(forward if way == 0 else 1 - forward) if config.bidirectional else 1.0,
            sizes=contents.sizes,
            size_order="listed",
            layers=(Ethernet(src=near.tester_mac, dst=near.next_mac),),
            rx_offsets=rx_offsets,
            replay=replay,
        )


def plan_capture(config: Config, backend: Backend, lab: LabPlan, check_filter: CheckFilter) -> CapturePlan | None:
    """Return what to capture; None for no capture. Raises ConfigError if it cannot be captured."""
    section = config.capture
    if section.file is None:
        return None
    if section.trials == "latency" and not config.latency.enabled:
        raise ConfigError(
            "capture.trials: no latency trials to capture (latency.enabled is false); write capture.trials: search, or "
            "enable the latency trials"
        )
    if section.way in ("sent", "both") and backend == "xdp_live":
        raise ConfigError(
            "capture.way: xdp_live creates frames in the kernel, where sent frames cannot be captured "
            f"({section.way}); write received, or use another engine.backend"
        )
    for port in section.ports:
        if port >= len(lab.tester_interfaces):
            raise ConfigError(
                f"capture.ports: no such port ({port}); write numbers from 0 to {len(lab.tester_interfaces) - 1}"
            )
    if section.filter is not None:
        check_filter(section.filter, "capture")
    return CapturePlan(
        file=str(Path(section.file).absolute()),
        trials=section.trials,
        way=section.way or ("received" if backend == "xdp_live" else "both"),
        ports=section.ports,
        filter=section.filter,
        frame_count_max=section.frames,
        bytes_max=section.bytes,
        snap_bytes=section.snap,
    )
