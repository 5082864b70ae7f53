"""Texts for causes of loss."""

DROP_REASONS = {
    "NETFILTER_DROP": "dropped by a netfilter rule (nft, iptables)",
    "QDISC_DROP": "dropped by a queueing discipline",
    "QDISC_OVERLIMIT": "dropped by a queueing discipline at its limit",
    "TC_INGRESS": "dropped by a tc filter at ingress",
    "TC_EGRESS": "dropped by a tc filter at egress",
    "XDP": "dropped by an XDP program",
    "CPU_BACKLOG": "the host's backlog was full (net.core.netdev_max_backlog)",
    "NO_TX_TARGET": "no interface or next hop to send to",
    "FULL_RING": "a ring was full",
    "PKT_TOO_BIG": "larger than the MTU",
    "DEV_READY": "the interface was down",
    "DEV_HDR": "the interface could not add its link-layer header",
    "NOMEM": "the kernel had no memory left",
    "OTHERHOST": "addressed to another host's MAC",
    "UNHANDLED_PROTO": "of a protocol that no handler is registered for",
    "IP_INNOROUTES": "no route to the destination",
    "IP_OUTNOROUTES": "no route to the destination",
    "IP_INADDRERRORS": "with an IP address that is not valid on this host",
    "IP_RPFILTER": "from a source that reverse path filtering rejects",
    "IP_CSUM": "with a wrong IP checksum",
    "IP_INHDR": "with a wrong IP header",
    "NEIGH_QUEUEFULL": "waiting for a next hop's MAC, with the queue full",
    "NEIGH_FAILED": "the next hop's MAC could not be resolved",
    "BRIDGE_INGRESS_STP_STATE": "the bridge port was not forwarding",
    "MAC_INVALID_SOURCE": "from an invalid MAC address",
    "NOT_SPECIFIED": "dropped by the kernel without a reason",
}
"""Texts for the kernel's drop reasons (include/net/dropreason-core.h)."""

IP_COUNTERS = {
    "InHdrErrors": "with a wrong IP header or an expired TTL",
    "InAddrErrors": "with an IP address that is not valid on this host",
    "InUnknownProtos": "of an IP protocol that no handler is registered for",
    "InDiscards": "discarded by the IP layer on input",
    "OutDiscards": "discarded by the IP layer on output",
    "OutNoRoutes": "no route to the destination",
    "FragFails": "larger than the MTU, with fragmentation forbidden",
}
"""Texts for the counters of the IP layer (RFC 4293)."""


def describe_drop_reason(reason: str) -> str:
    """Return the text for a drop reason of the kernel, followed by its name."""
    return f"{DROP_REASONS[reason]} [{reason}]" if reason in DROP_REASONS else f"dropped by the kernel [{reason}]"


def describe_ip_counter(counter: str) -> str:
    """Return the text for a counter of the IP layer."""
    return IP_COUNTERS.get(counter, counter)
