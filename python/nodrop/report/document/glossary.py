"""Terms of a report, for readers from other fields."""

from nodrop.report.document.blocks import Block, Glossary

TERMS = (
    ("NDR, no drop rate", "The highest load without frame loss: the throughput of RFC 1242 section 3.17."),
    ("PDR, partial drop rate", "The highest load with at most a stated share of frames lost."),
    ("load", "Frames sent per second over all directions, unless a direction is named (RFC 2285 section 3.5)."),
    (
        "lower and upper bound",
        "The highest measured load that meets a goal, and the lowest that does not. The true rate is between them "
        "(RFC 9971). The lower bound is the result.",
    ),
    ("width", "The distance between the bounds as a share of the upper bound."),
    ("trial", "Frames sent at one load for some time and counted on arrival (RFC 2544 section 23)."),
    ("loss", "Share of the frames sent that did not arrive."),
    ("not sent", "Frames that the tester could not send in time. They count against a goal as lost frames do."),
    ("frame size", "Bytes of a frame with its check sequence, FCS (RFC 1242 section 3.5)."),
    ("on the wire, L1", "Bits with preamble and gap: 20 bytes more for every frame (RFC 2544 section 20)."),
    ("SUT", "System under test: the forwarder between the tester's ports (RFC 2285 section 3.1.2)."),
    ("latency", "Time from sending a frame to receiving it, by the tester's clock. p99: 99 % of frames were faster."),
    ("limited by the tester", "The tester could not send more; the figure is a minimum of the SUT's rate."),
    (
        "suspect, invalid",
        "The counts of a suspect trial are right, but tester or host may have affected them. An invalid trial says "
        "nothing about the SUT and moves no bound.",
    ),
)


def build_glossary_blocks() -> tuple[Block, ...]:
    """Return all terms."""
    return (Glossary(pairs=TERMS),)
