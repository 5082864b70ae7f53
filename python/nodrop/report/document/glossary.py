"""Words of a report, for readers who come from elsewhere."""

from nodrop.report.document.blocks import Block, Terms

TERMS = (
    ("NDR, no drop rate", "The highest load at which no frame is lost: the throughput of RFC 1242 section 3.17."),
    ("PDR, partial drop rate", "The highest load at which no more than a stated share of the frames is lost."),
    ("load", "Frames sent per second, all directions together, unless a direction is named (RFC 2285 section 3.5)."),
    (
        "lower and upper bound",
        "The highest load measured that meets a goal, and the lowest that does not. The truth is between them "
        "(RFC 9971). The lower bound is the result.",
    ),
    ("width", "How far the bounds are apart, as a share of the upper one."),
    ("trial", "Frames sent at one load for some time, and counted at the other end (RFC 2544 section 23)."),
    ("loss", "Share of the frames that did not arrive. Frames that the tester could not send in time count as lost."),
    ("frame size", "Bytes of a frame with its check sequence, FCS (RFC 1242 section 3.5)."),
    ("on the wire, L1", "Bits with preamble and gap: 20 bytes more for every frame (RFC 2544 section 20)."),
    ("SUT", "System under test: what stands between the tester's ports (RFC 2285 section 3.1.2)."),
    ("latency", "From sending a frame to receiving it, by the tester's clock. p99: 99 % of the frames were faster."),
    ("limited by the tester", "The tester could send no more, so the figure is what the SUT does at least."),
    (
        "suspect, invalid",
        "A suspect trial counted right, yet tester or host may have shaped what it counted. An invalid one does not "
        "speak for the SUT and moves no bound.",
    ),
)


def glossary_blocks() -> tuple[Block, ...]:
    """All of them."""
    return (Terms(pairs=TERMS),)
