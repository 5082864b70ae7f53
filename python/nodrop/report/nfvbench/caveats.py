"""What NFVbench is known to get wrong, where a file shows it: said beside the figures, which are shown as they are."""

from collections.abc import Iterator
from typing import Any

from nodrop.model import nfvbench as reading
from nodrop.report.nfvbench.summary import goals_of

SENT_RATIO = 0.99
"""Below this share of a rate, what was sent is another rate."""


def caveats(result: object, chain: dict[str, Any]) -> Iterator[str]:
    """What to know of the figures of a service chain that NFVbench itself wrote."""
    if reading.text(result, "nfvbench_version").startswith("nodrop "):
        return
    if chain.get("bidirectional") is False:
        yield (
            "traffic went one way: NFVbench gives the loss of the other way as drop rate; go by the packet counters of "
            "each port"
        )
    for size, found in reading.frame_sizes(chain):
        for goal in goals_of(found):
            asked = reading.number(found, goal, "rate_pps")
            sent = reading.number(found, goal, "stats", "total_tx_rate")
            if asked and sent is not None and sent < SENT_RATIO * asked:
                yield (
                    f"{goal.upper()} of {size}: {asked:,.0f} pps is what NFVbench asked for; {sent:,.0f} pps were sent"
                )
