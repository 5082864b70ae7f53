"""A plan's path and traffic in a word or a number each, as lists, summaries and other programs' forms have them."""

from collections.abc import Mapping

from nodrop.model.plan import Plan


def name_path(plan: Plan) -> str:
    """`PVP`, `PVVP` or `EXT`: what NFVbench calls the path."""
    if plan.lab.sut in ("ext", "wire"):
        return "EXT"
    return "PVVP" if plan.lab.hop_count > 1 else "PVP"


def is_bidirectional(plan: Plan) -> bool:
    """Whether traffic is measured both ways. A trickle the other way does not count."""
    written = plan.nfvbench.get("traffic")
    if isinstance(written, Mapping) and isinstance(written.get("bidirectional"), bool):
        return bool(written["bidirectional"])
    return len({stream.tx_port < stream.rx_port for stream in plan.traffic.streams}) > 1


def count_flows(plan: Plan) -> int:
    """Flows over all chains and directions."""
    return sum(stream.flow_count for stream in plan.traffic.streams)


def name_frame_size(plan: Plan) -> str:
    """The frame size by the name it is known by."""
    return plan.frame_size or f"{plan.traffic.frame_bytes:g}"
