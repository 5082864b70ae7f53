"""The section `openstack`: loopback VMs staged in a cloud, and networks looked up there."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.config.flows import Address, Network
from nodrop.config.per_side import convert_number_to_text
from nodrop.model.base import Value
from nodrop.model.cloud import LoopbackForwarder, NetworkKind, NetworkRole
from nodrop.units import parse_seconds

NUMBER_MAX = 2**24 - 1


def parse_names(value: object) -> object:
    """Parse a name, or a list with one name for each chain. Raises ValueError."""
    items = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(name, str) and 0 < len(name) <= 255 for name in items) or not items:
        raise ValueError(f"{value!r} is neither a name nor a list of names; write for example blue, or [blue, red]")
    return value if isinstance(value, str) else tuple(items)


def parse_numbers(value: object) -> object:
    """Parse an integer, or a list with one for each chain. Raises ValueError."""
    items = value if isinstance(value, (list, tuple)) else [value]
    numbers = [int(str(each)) if str(each).isdecimal() else -1 for each in items]
    if not numbers or not all(0 <= number <= NUMBER_MAX for number in numbers):
        raise ValueError(
            f"{value!r} is neither a number nor a list of numbers; write 0 to {NUMBER_MAX}, e.g. 100 or [100, 101]"
        )
    return tuple(numbers) if isinstance(value, (list, tuple)) else numbers[0]


Name = Annotated[str, Field(min_length=1, max_length=255)]
NamesPerChain = Annotated[str | tuple[str, ...], BeforeValidator(parse_names, json_schema_input_type=str | list[str])]
"""One name, or one for each chain."""
NumbersPerChain = Annotated[
    int | tuple[int, ...], BeforeValidator(parse_numbers, json_schema_input_type=int | list[int])
]
"""The first chain's number, or one for each chain."""
Seconds = Annotated[float, Field(gt=0, le=86400), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
ExtraSpec = Annotated[
    str,
    BeforeValidator(
        lambda value: str(value) if isinstance(value, bool) else convert_number_to_text(value),
        json_schema_input_type=str | float | bool,
    ),
]


class ImageConfig(Value):
    """The image of the loopback VMs."""

    name: Name = "nodrop-vm"
    """Name in Glance; an existing image of this name is used."""
    file: str | None = Field(default=None, min_length=1)
    """File to upload if the image does not exist, built by `nodrop vm-image build`; null: the image must exist."""


class FlavorConfig(Value):
    """The flavor of the loopback VMs; an existing flavor of this name is used."""

    name: Name = "nodrop.medium"
    """Name in Nova."""
    vcpus: int = Field(default=2, ge=1, le=512)
    """Virtual CPUs; 1 to 512."""
    ram: int = Field(default=1024, ge=64)
    """Memory in MiB; from 64."""
    disk: int = Field(default=0, ge=0)
    """Disk in GiB; 0: the size of the image."""
    extra_specs: dict[str, ExtraSpec] = Field(default_factory=dict)
    """Extra specs, e.g. `{"hw:cpu_policy": dedicated, "hw:mem_page_size": large}`."""
    vmd: str | None = Field(default=None, min_length=1)
    """VM Descriptor (docs/reference/vmd.md) that replaces these keys except the name; null: the keys above apply."""
    host: str | None = Field(default=None, min_length=1)
    """Compute Host Descriptor (docs/reference/chd.md) of the hosts for that VM; null: this machine. Requires `vmd`."""


class NetworkConfig(Value):
    """Networks of one role. Existing networks of these names are used if they match."""

    name: NamesPerChain | None = None
    """Name prefix, to which the chain's number is appended; for a network that all chains share, the full name; or one
    name for each chain, e.g. `[blue, red]`. Null: nodrop's default."""
    subnet: NamesPerChain | None = None
    """Name of its subnet, in the same forms; null: the name of the network."""
    cidr: Network | None = None
    """Addresses of its subnet, e.g. `192.168.1.0/24`; null: nodrop's default."""
    gateway: Address | None = None
    """Address of its router; null: none, or the first address if the network has a router."""
    type: NetworkKind | None = None
    """Network type: `vlan`, `vxlan`, `flat`, `mpls`, or `any` for the cloud's choice; null: `vlan`, for `management`
    and `floating` `any`."""
    segmentation_id: NumbersPerChain | None = None
    """VLAN, VNI or inner MPLS label of the first chain, incremented for each further chain, or one for each chain; 0 to
    16777215; null: the cloud's choice."""
    physical_network: NamesPerChain | None = None
    """The cloud's name of the physical network, one or one for each chain; null: the cloud's choice."""


DEFAULT_NETWORKS: dict[NetworkRole, tuple[str, str]] = {
    "left": ("nodrop-left-", "192.168.1.0/24"),
    "right": ("nodrop-right-", "192.168.2.0/24"),
    "middle": ("nodrop-middle-", "192.168.3.0/24"),
    "idle": ("nodrop-idle-", "192.168.4.0/24"),
    "edge_left": ("nodrop-edge-left-", "192.168.5.0/24"),
    "edge_right": ("nodrop-edge-right-", "192.168.6.0/24"),
    "management": ("nodrop-management", "192.168.0.0/24"),
    "floating": ("nodrop-floating", "192.168.7.0/24"),
}
"""Default names and addresses."""
ROLES_WITHOUT_CHAIN: frozenset[NetworkRole] = frozenset({"management", "floating"})
"""Roles of networks that all chains share and that carry no test traffic; their type is the cloud's choice."""


class NetworksConfig(Value):
    """Networks of the chains."""

    left: NetworkConfig = NetworkConfig()
    """Left of the VMs; by default `nodrop-left-0` and so on, 192.168.1.0/24."""
    right: NetworkConfig = NetworkConfig()
    """Right of the VMs; by default `nodrop-right-0` and so on, 192.168.2.0/24."""
    middle: NetworkConfig = NetworkConfig()
    """Between two VMs of a chain; by default `nodrop-middle-0` and so on, 192.168.3.0/24."""
    idle: NetworkConfig = NetworkConfig()
    """For interfaces without traffic; by default `nodrop-idle-0.0` and so on, 192.168.4.0/24."""
    management: NetworkConfig = NetworkConfig()
    """For logins to the VMs; by default `nodrop-management`, 192.168.0.0/24."""
    floating: NetworkConfig = NetworkConfig()
    """For floating addresses, an existing external network; by default `nodrop-floating`."""
    edge_left: NetworkConfig = NetworkConfig()
    """Between the tester and the routers on the left, with `routers`; by default `nodrop-edge-left-0` and so on,
    192.168.5.0/24."""
    edge_right: NetworkConfig = NetworkConfig()
    """Between the tester and the routers on the right, with `routers`; by default `nodrop-edge-right-0` and so on,
    192.168.6.0/24."""


class RouterNamesConfig(Value):
    """Name prefixes of the routers, to which the chain's number is appended; full names for routers that all chains
    share."""

    left: Name = "nodrop-router-left-"
    """Routers on the left."""
    right: Name = "nodrop-router-right-"
    """Routers on the right."""


class ExternalConfig(Value):
    """Networks of an external SUT (`sut: ext`), whose VLANs are looked up in the cloud."""

    left: NamesPerChain | None = None
    """Name prefix on the left, to which the chain's number is appended, or one name for each chain; null: no lookup."""
    right: NamesPerChain | None = None
    """The same on the right."""


class OpenStackConfig(Value):
    """OpenStack, for chains staged there (`sut: openstack`)."""

    cloud: str | None = Field(default=None, min_length=1)
    """Name of the cloud in clouds.yaml; null: `openrc`, else the environment (OS_CLOUD, OS_AUTH_URL, ...)."""
    openrc: str | None = Field(default=None, min_length=1)
    """Shell file that sets OS_AUTH_URL and other variables. `cloud` overrides it."""
    label: str = Field(default="nodrop", min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_.-]+$")
    """Ownership tag of created resources, by which `nodrop cleanup` finds them."""
    image: ImageConfig = ImageConfig()
    """The image of the loopback VMs."""
    flavor: FlavorConfig = FlavorConfig()
    """The flavor of the loopback VMs."""
    server: Name = "nodrop-vm-"
    """Name prefix of the VMs, to which the chain's number is appended, with `hops: 2` also the VM's."""
    forwarder: LoopbackForwarder = "vnf-l2"
    """Forwarder in the VMs: `vnf-l2`, `vnf-l3`, or one that the image provides, `testpmd` or `vpp`. `vnf-l3` and `vpp`
    route."""
    availability_zone: str | None = Field(default=None, min_length=1)
    """Availability zone of the VMs, unless `hosts` names one; null: the cloud's choice."""
    hosts: NamesPerChain | None = None
    """Compute hosts of the VMs, assigned to chains in rotation: `compute1`, `zone:compute1` or a list; null: the
    cloud's choice, one host for all VMs of a chain."""
    server_group: Literal["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"] | None = None
    """Policy of the VMs' server group: `affinity`, `anti-affinity`, `soft-affinity` or `soft-anti-affinity`; null: no
    group."""
    sriov: bool = False
    """Use SR-IOV virtual functions as the VMs' interfaces; requires `physical_network` and `segmentation_id` of the
    networks left and right."""
    sriov_middle: bool = False
    """Also use them between two VMs. Requires `hops: 2` and `sriov`."""
    multiqueue: int = Field(default=1, ge=1, le=8)
    """Queues per interface; 1 to 8."""
    mbufs: int | None = Field(default=None, ge=1)
    """Packet buffers of VPP in the VM, from 1; null: VPP's default. For `vpp`."""
    tagged: bool = True
    """Send frames with the VLAN tags of the networks; false if the switch between tester and cloud adds the tags."""
    management: bool = False
    """Add a management interface to the VMs."""
    floating_ip: bool = False
    """Assign a floating address to the management interface."""
    networks: NetworksConfig = NetworksConfig()
    """Networks of the chains."""
    router_names: RouterNamesConfig = RouterNamesConfig()
    """Names of the routers, with `routers`."""
    external: ExternalConfig = ExternalConfig()
    """Networks of an external SUT."""
    keep: bool = False
    """Keep all resources after the run; the next run reuses them."""
    active_timeout: Seconds = 200.0
    """Time for the first VM to become active, e.g. `200s`; each further VM adds 10 s."""
    poll: Seconds = 1.0
    """Interval between status requests, e.g. `1s`; above 0."""
