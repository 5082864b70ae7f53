"""Keys of the policer of a VNF."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.model.choices import ColorMode
from nodrop.units import parse_bps, parse_count

BitRate = Annotated[int, Field(ge=0, le=10**12), BeforeValidator(parse_bps, json_schema_input_type=float | str)]
BurstSize = Annotated[int, Field(ge=0, le=10**9), BeforeValidator(parse_count, json_schema_input_type=int | str)]


class PolicerConfig(Value):
    """Policer at each port of a VNF: a bandwidth profile after MEF 10. `vnf-l2`, `vnf-l3`."""

    cir: BitRate | None = None
    """Committed information rate, bits per second from destination MAC address to FCS, e.g. `1Mbps`; 0 if there is only
    an excess rate; null: no policer."""
    cbs: BurstSize = 0
    """Committed burst size in bytes, e.g. `12500`; at least a frame if `cir` is above 0."""
    eir: BitRate = 0
    """Excess information rate, e.g. `500kbps`."""
    ebs: BurstSize = 0
    """Excess burst size in bytes; at least a frame if `eir` is above 0."""
    coupling: bool = False
    """Coupling flag: committed tokens beyond `cbs` become excess tokens."""
    color_mode: ColorMode = "blind"
    """Color of arriving frames: `blind`, not used; or `aware`: frames that arrive yellow, with DEI in their VLAN tag
    or, without a tag, with DSCP AF12, take excess tokens only."""
    mark: bool = False
    """Write the color of each forwarded frame: DEI in its VLAN tag or, without a tag, DSCP AF11 (green) or AF12
    (yellow)."""
