"""Short descriptions of a plan's path and traffic, for lists, summaries and other formats."""

from collections.abc import Mapping

from nodrop.model.plan import Plan


def name_path(plan: Plan) -> str:
    """Return NFVbench's name of the path: `PVP`, `PVVP` or `EXT`."""
    if plan.lab.sut in ("ext", "wire"):
        return "EXT"
    return "PVVP" if plan.lab.hop_count > 1 else "PVP"


def is_bidirectional(plan: Plan) -> bool:
    """Return whether traffic is measured in both directions, ignoring a trickle."""
    traffic = plan.nfvbench.get("traffic")
    if isinstance(traffic, Mapping) and isinstance(traffic.get("bidirectional"), bool):
        return bool(traffic["bidirectional"])
    return len({stream.tx_port < stream.rx_port for stream in plan.traffic.streams}) > 1


def count_flows(plan: Plan) -> int:
    """Return the number of flows over all chains and directions."""
    return sum(stream.flow_count for stream in plan.traffic.streams)


def name_frame_size(plan: Plan) -> str:
    """Return the name of the frame size."""
    return plan.frame_size or f"{plan.traffic.frame_bytes:g}"
