"""Completes a plan with facts of the stage: VLANs, stations and tunnels of chains that a cloud has numbered."""

from collections.abc import Sequence
from typing import Any

from nodrop.model.facts import ChainFacts
from nodrop.model.layer import Ethernet, Layer, Mpls, Vlan, Vxlan
from nodrop.model.neighbor import NeighborLink
from nodrop.model.plan import Plan
from nodrop.model.traffic import Stream


def apply_stage_facts(plan: Plan, chains: Sequence[ChainFacts]) -> Plan:
    """Return the plan for these chains; unchanged without a cloud."""
    if plan.cloud is None:
        return plan
    lab, facts_by_chain = plan.lab, {chain.chain: chain for chain in chains}

    def side_of(chain: int, port: int) -> int:
        return 0 if lab.port(chain, 0) == port else 1

    def stream(each: Stream) -> Stream:
        chain, side = facts_by_chain[each.chain], side_of(each.chain, each.tx_port)
        return each.replace(
            layers=_update_layers(each.layers, chain, side),
            rx_vlan=chain.vlans[1 - side] if chain.vlans and each.rx_vlan is not None else each.rx_vlan,
        )

    def link(each: NeighborLink) -> NeighborLink:
        tags = _select_first(
            each.station.tags, Vlan, _collect_vlan_update(facts_by_chain[each.chain], side_of(each.chain, each.port))
        )
        return each.replace(station=each.station.replace(tags=tags))

    vlans = tuple(chain.vlans for chain in chains if chain.vlans)
    return plan.replace(
        lab=lab.replace(vlans=vlans if lab.vlans else ()),
        traffic=plan.traffic.replace(streams=tuple(map(stream, plan.traffic.streams))),
        neighbors=plan.neighbors.replace(links=tuple(map(link, plan.neighbors.links))),
    )


def _update_layers(layers: Sequence[Layer], chain: ChainFacts, side: int) -> tuple[Layer, ...]:
    """Return the headers of frames into a chain; in a tunnel, outer VLANs and stations are the underlay's."""
    tunnels = [index for index, layer in enumerate(layers) if isinstance(layer, Vxlan | Mpls)]
    if not tunnels:
        tagged = _select_first(tuple(layers), Vlan, _collect_vlan_update(chain, side))
        return _select_first(tagged, Ethernet, _collect_station_update(chain, side))
    split = tunnels[-1]  # of a stack of labels the last one is the network's
    number = {"vni" if isinstance(layers[split], Vxlan) else "label": chain.vnis[side]} if chain.vnis else {}
    inner = _select_first(tuple(layers[split + 1 :]), Ethernet, _collect_station_update(chain, side))
    return (*layers[:split], layers[split].replace(**number), *inner)


def _select_first(layers: tuple[Any, ...], kind: type, update: dict[str, Any]) -> tuple[Any, ...]:
    """Return the layers with the first of a kind changed."""
    index = next((index for index, layer in enumerate(layers) if isinstance(layer, kind)), None)
    if index is None or not update:
        return layers
    return (*layers[:index], layers[index].replace(**update), *layers[index + 1 :])


def _collect_vlan_update(chain: ChainFacts, side: int) -> dict[str, Any]:
    return {"id": chain.vlans[side]} if chain.vlans else {}


def _collect_station_update(chain: ChainFacts, side: int) -> dict[str, Any]:
    return {"dst": chain.macs[side]} if chain.macs else {}
