"""How causes of loss read."""

DROP_REASONS = {
    "NETFILTER_DROP": "dropped by a netfilter rule (nft, iptables)",
    "QDISC_DROP": "dropped by a queueing discipline",
    "QDISC_OVERLIMIT": "dropped by a queueing discipline at its limit",
    "TC_INGRESS": "dropped by a tc filter at ingress",
    "TC_EGRESS": "dropped by a tc filter at egress",
    "XDP": "dropped by an XDP program",
    "CPU_BACKLOG": "the host's backlog was full (net.core.netdev_max_backlog)",
    "NO_TX_TARGET": "nowhere to send it to",
    "FULL_RING": "a ring was full",
    "PKT_TOO_BIG": "larger than the MTU",
    "DEV_READY": "the interface was down",
    "DEV_HDR": "the interface could not put its header on",
    "NOMEM": "the kernel had no memory",
    "OTHERHOST": "addressed to another host's MAC",
    "UNHANDLED_PROTO": "of a protocol nobody handles there",
    "IP_INNOROUTES": "no route to the destination",
    "IP_OUTNOROUTES": "no route to the destination",
    "IP_INADDRERRORS": "with an IP address not valid there",
    "IP_RPFILTER": "from a source that reverse path filtering refuses",
    "IP_CSUM": "with a wrong IP checksum",
    "IP_INHDR": "with a wrong IP header",
    "NEIGH_QUEUEFULL": "waiting for a next hop's MAC, more than its queue holds",
    "NEIGH_FAILED": "the next hop's MAC could not be found",
    "BRIDGE_INGRESS_STP_STATE": "the bridge port was not forwarding",
    "MAC_INVALID_SOURCE": "from an invalid MAC address",
    "NOT_SPECIFIED": "dropped by the kernel, which does not say why",
}
"""Drop reasons of the kernel (include/net/dropreason-core.h), in words."""

IP_COUNTERS = {
    "InHdrErrors": "with a wrong IP header or an expired TTL",
    "InAddrErrors": "with an IP address not valid there",
    "InUnknownProtos": "of an IP protocol nobody handles there",
    "InDiscards": "discarded by the IP layer on the way in",
    "OutDiscards": "discarded by the IP layer on the way out",
    "OutNoRoutes": "no route to the destination",
    "FragFails": "larger than the MTU and not to be fragmented",
}
"""Counters of the IP layer (RFC 4293), in words."""


def describe_drop_reason(reason: str) -> str:
    """A drop reason of the kernel in words, its name with it."""
    return f"{DROP_REASONS[reason]} [{reason}]" if reason in DROP_REASONS else f"dropped by the kernel [{reason}]"


def describe_ip_counter(counter: str) -> str:
    """A counter of the IP layer in words."""
    return IP_COUNTERS.get(counter, counter)
