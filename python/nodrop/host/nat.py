"""NAT on bridges, by the host's masquerading rules. Source: libnftables-json(5), iptables-save(8)."""

import ipaddress
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from nodrop.host.inputs import NOT_CAPTURED, Source
from nodrop.model.observation import Observation

LEGACY_TABLES = "/proc/net/ip_tables_names"
BridgeMode = Literal["bridge", "nat"]


class MasqueradeRule(NamedTuple):
    """A rule that rewrites source addresses to an address of the host."""

    networks: tuple[str, ...]
    """Source networks; empty: any."""
    entries: tuple[str, ...]
    """Input interfaces; empty: any."""


class MasqueradeRules(NamedTuple):
    """All masquerading rules of this machine."""

    rules: tuple[MasqueradeRule, ...]
    addresses: Mapping[str, tuple[str, ...]]
    """By interface of the host."""
    why: str = ""
    """Why the rules are unknown."""


def read_masquerade_rules(source: Source) -> MasqueradeRules:
    """Read the rules of nftables and of iptables (nft and legacy)."""
    if source.network is None:
        return MasqueradeRules((), {}, NOT_CAPTURED)
    interfaces, reason = source.network.read_interfaces()
    addresses = {name: each.addresses for name, each in interfaces.items()}
    answer = source.programs("nft", "--json", "list", "ruleset")
    if answer.text is None or reason:
        return MasqueradeRules((), addresses, _format_reason(reason or answer.why))
    try:
        rules = [*_parse_nft(json.loads(answer.text))]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return MasqueradeRules((), addresses, "nft answered in an unknown form")
    if "nat" in (source.tree.read_text(LEGACY_TABLES) or "").split():
        answer = source.programs("iptables-legacy-save", "-t", "nat")
        if answer.text is None:
            return MasqueradeRules(tuple(rules), addresses, _format_reason(answer.why))
        rules += _parse_iptables(answer.text)
    return MasqueradeRules(tuple(rules), addresses)


def infer_mode(source: Source, bridge: str, masquerading: MasqueradeRules) -> Observation[BridgeMode]:
    """Return whether a bridge's traffic is masqueraded; a bridge without host address is not routed at all."""
    moment, requested = source.moment, "nft list ruleset"
    if masquerading.why == NOT_CAPTURED:
        return moment.unknown(NOT_CAPTURED, requested)
    if masquerading.why and bridge not in masquerading.addresses:  # the kernel did not say
        return moment.unknown(masquerading.why, requested)
    addresses = [each for each in masquerading.addresses.get(bridge, ()) if ":" not in each]
    if not addresses:
        return moment.inferred("bridge", "netlink", "the host has no IPv4 address on it, so it routes nothing from it")
    if any(_applies_to(rule, bridge, addresses) for rule in masquerading.rules):
        return moment.inferred("nat", requested, "a rule masquerades its traffic")
    if masquerading.why:
        return moment.unknown(masquerading.why, requested)
    return moment.inferred("bridge", requested, "no rule masquerades its traffic")


def _applies_to(rule: MasqueradeRule, bridge: str, addresses: list[str]) -> bool:
    if rule.entries and bridge not in rule.entries:
        return False
    return not rule.networks or any(_is_within(address, network) for address in addresses for network in rule.networks)


def _is_within(address: str, network: str) -> bool:
    try:
        return ipaddress.ip_interface(address).ip in ipaddress.ip_network(network, strict=False)
    except (ValueError, TypeError):
        return False


def _parse_nft(document: Any) -> Iterator[MasqueradeRule]:
    for each in document["nftables"]:
        expressions = each.get("rule", {}).get("expr", [])
        if any(_masquerades(expression) for expression in expressions):
            matches = [expression["match"] for expression in expressions if "match" in expression]
            yield MasqueradeRule(
                tuple(_list_matched_values(matches, "saddr")),
                tuple(each for key in ("iifname", "iif", "ibrname") for each in _list_matched_values(matches, key)),
            )


def _masquerades(expression: Any) -> bool:
    return "masquerade" in expression or "snat" in expression or expression.get("xt", {}).get("name") == "MASQUERADE"


def _list_matched_values(matches: list[Any], key: str) -> Iterator[str]:
    """Yield the values that a field is compared with: names, addresses, networks."""
    for match in matches:
        left = match.get("left", {})
        field = left.get("payload", {}).get("field") or left.get("meta", {}).get("key")
        if field == key and match.get("op") in ("==", "in"):
            yield from _list_values(match.get("right"))


def _list_values(right: Any) -> Iterator[str]:
    if isinstance(right, str):
        yield right
    elif isinstance(right, dict) and "prefix" in right:
        yield f"{right['prefix']['addr']}/{right['prefix']['len']}"
    elif isinstance(right, dict) and isinstance(right.get("set"), list):
        for each in right["set"]:
            yield from _list_values(each)
    else:
        yield f"{right}"


def _parse_iptables(text: str) -> Iterable[MasqueradeRule]:
    for line in text.splitlines():
        if re.search(r" -j (?:MASQUERADE|SNAT)\b", line):
            # An inverted condition begins with `!` and says whom the rule leaves alone.
            yield MasqueradeRule(
                tuple(re.findall(r"(?<!!) -s (\S+)", line)), tuple(re.findall(r"(?<!!) -i (\S+)", line))
            )


def _format_reason(reason: str) -> str:
    return "needs root" if "not permitted" in reason or "ermission denied" in reason else reason
