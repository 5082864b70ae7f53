"""The keys under `openstack`: loopback VMs that are staged in a cloud, or networks that are looked up there."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from nodrop.config.flows import Address, Network
from nodrop.config.per_side import number_to_text
from nodrop.model.base import Value
from nodrop.model.cloud import LoopbackForwarder, NetworkKind, NetworkRole
from nodrop.units import parse_seconds

NUMBER_MAX = 2**24 - 1


def parse_names(written: object) -> object:
    """A name, or a list with one for each chain. Raises ValueError."""
    listed = written if isinstance(written, (list, tuple)) else [written]
    if not all(isinstance(name, str) and 0 < len(name) <= 255 for name in listed) or not listed:
        raise ValueError(f"{written!r} is neither a name nor a list of names; write for example blue, or [blue, red]")
    return written if isinstance(written, str) else tuple(listed)


def parse_numbers(written: object) -> object:
    """A number, or a list with one for each chain. Raises ValueError."""
    listed = written if isinstance(written, (list, tuple)) else [written]
    numbers = [int(str(each)) if str(each).isdecimal() else -1 for each in listed]
    if not numbers or not all(0 <= number <= NUMBER_MAX for number in numbers):
        raise ValueError(
            f"{written!r} is neither a number nor a list of numbers; write 0 to {NUMBER_MAX}, as 100 or [100, 101]"
        )
    return tuple(numbers) if isinstance(written, (list, tuple)) else numbers[0]


Name = Annotated[str, Field(min_length=1, max_length=255)]
NamesPerChain = Annotated[str | tuple[str, ...], BeforeValidator(parse_names, json_schema_input_type=str | list[str])]
"""One, or one for each chain."""
NumbersPerChain = Annotated[
    int | tuple[int, ...], BeforeValidator(parse_numbers, json_schema_input_type=int | list[int])
]
"""The first chain's, or one for each."""
Seconds = Annotated[float, Field(gt=0, le=86400), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
ExtraSpec = Annotated[
    str,
    BeforeValidator(
        lambda written: str(written) if isinstance(written, bool) else number_to_text(written),
        json_schema_input_type=str | float | bool,
    ),
]


class ImageConfig(Value):
    """The image of the loopback VMs."""

    name: Name = "nodrop-vm"
    """Its name in Glance; what is there under this name is taken."""
    file: str | None = Field(default=None, min_length=1)
    """File to upload where it is not there, as `nodrop vm-image build` makes it; null: it has to be there."""


class FlavorConfig(Value):
    """The flavor of the loopback VMs; what is there under this name is taken."""

    name: Name = "nodrop.medium"
    """Its name in Nova."""
    vcpus: int = Field(default=2, ge=1, le=512)
    """Virtual CPUs; 1 to 512."""
    ram: int = Field(default=1024, ge=64)
    """Memory in MiB; from 64."""
    disk: int = Field(default=0, ge=0)
    """Disk in GiB; 0: as large as the image."""
    extra_specs: dict[str, ExtraSpec] = Field(default_factory=dict)
    """Properties, as `{"hw:cpu_policy": dedicated, "hw:mem_page_size": large}`."""
    vmd: str | None = Field(default=None, min_length=1)
    """A VM Descriptor (docs/reference/vmd.md) that says all of this but the name; null: the keys above do."""
    host: str | None = Field(default=None, min_length=1)
    """The Compute Host Descriptor (docs/reference/chd.md) of the hosts that VM is for; null: this machine. `vmd`."""


class NetworkConfig(Value):
    """A kind of networks. Those that exist under their names are taken, if they are as asked for."""

    name: NamesPerChain | None = None
    """What its name begins with, followed by the chain's number; of a network that all chains share the whole name; or
    one name for each chain, as `[blue, red]`. Null: nodrop's own."""
    subnet: NamesPerChain | None = None
    """Name of its subnet, likewise; null: that of the network."""
    cidr: Network | None = None
    """Addresses of its subnet, as `192.168.1.0/24`; null: nodrop's own."""
    gateway: Address | None = None
    """Address of the router there; null: none, or where there is one the first."""
    type: NetworkKind | None = None
    """What tells it from others: `vlan`, `vxlan`, `flat`, `mpls`, or `any`, as the cloud sees fit; null: `vlan`, of
    `management` and `floating` `any`."""
    segmentation_id: NumbersPerChain | None = None
    """VLAN, VNI or inner MPLS label of the first chain, the next ones have the next, or one for each; 0 to 16777215;
    null: the cloud's choice."""
    physical_network: NamesPerChain | None = None
    """The cloud's name for what carries it, one or one for each chain; null: the cloud's choice."""


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
"""Name and addresses of networks for which nothing else is written."""
ROLES_WITHOUT_CHAIN: frozenset[NetworkRole] = frozenset({"management", "floating"})
"""Networks that are neither a chain's nor the tester's: one for all, told from others as the cloud sees fit."""


class NetworksConfig(Value):
    """Networks of the chains."""

    left: NetworkConfig = NetworkConfig()
    """Left of the VMs: `nodrop-left-0` and so on, 192.168.1.0/24."""
    right: NetworkConfig = NetworkConfig()
    """Right of the VMs: `nodrop-right-0`, 192.168.2.0/24."""
    middle: NetworkConfig = NetworkConfig()
    """Between two VMs of a chain: `nodrop-middle-0`, 192.168.3.0/24."""
    idle: NetworkConfig = NetworkConfig()
    """Of interfaces on which nothing happens: `nodrop-idle-0.0`, 192.168.4.0/24."""
    management: NetworkConfig = NetworkConfig()
    """By which VMs can be logged in to: `nodrop-management`, 192.168.0.0/24."""
    floating: NetworkConfig = NetworkConfig()
    """Of floating addresses, an external network that is there: `nodrop-floating`."""
    edge_left: NetworkConfig = NetworkConfig()
    """Between the tester and the routers on the left, with `routers`: `nodrop-edge-left-0`, 192.168.5.0/24."""
    edge_right: NetworkConfig = NetworkConfig()
    """Between the tester and the routers on the right, with `routers`: `nodrop-edge-right-0`, 192.168.6.0/24."""


class RouterNamesConfig(Value):
    """Names of routers, followed by the chain's number; of routers that all chains share the whole names."""

    left: Name = "nodrop-router-left-"
    """On the left."""
    right: Name = "nodrop-router-right-"
    """On the right."""


class ExternalConfig(Value):
    """Networks of a SUT that others staged (`sut: ext`), whose VLANs are asked of the cloud."""

    left: NamesPerChain | None = None
    """What their names begin with on the left, followed by the chain's number, or one name for each chain; null: the
    cloud is not asked."""
    right: NamesPerChain | None = None
    """The same on the right."""


class OpenStackConfig(Value):
    """OpenStack, where chains are staged there (`sut: openstack`)."""

    cloud: str | None = Field(default=None, min_length=1)
    """Name of the cloud in clouds.yaml; null: `openrc`, else the environment (OS_CLOUD, OS_AUTH_URL, ...)."""
    openrc: str | None = Field(default=None, min_length=1)
    """A file that sets OS_AUTH_URL and the like. `cloud` goes before it."""
    label: str = Field(default="nodrop", min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_.-]+$")
    """Tag of everything that is made, by which `nodrop cleanup` finds it."""
    image: ImageConfig = ImageConfig()
    """The image of the loopback VMs."""
    flavor: FlavorConfig = FlavorConfig()
    """The flavor of the loopback VMs."""
    server: Name = "nodrop-vm-"
    """What the names of VMs begin with, followed by the chain's number, with `hops: 2` also by the VM's."""
    forwarder: LoopbackForwarder = "vnf-l2"
    """What forwards in them: `vnf-l2`, `vnf-l3`, or what an image has besides, `testpmd`, `vpp`. `vnf-l3` and `vpp`
    route."""
    availability_zone: str | None = Field(default=None, min_length=1)
    """Availability zone of the VMs; null: the cloud's choice."""
    hosts: NamesPerChain | None = None
    """Compute hosts they run on, chain by chain in turn, as `compute1`, `zone:compute1` or a list; null: the cloud's
    choice, one host for all VMs of a chain."""
    server_group: Literal["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"] | None = None
    """Policy of the server group they are in: `affinity`, `anti-affinity`, `soft-affinity` or `soft-anti-affinity`;
    null: in none."""
    sriov: bool = False
    """Whether their interfaces are virtual functions of cards; needs `physical_network` and `segmentation_id` of the
    networks left and right."""
    sriov_middle: bool = False
    """Whether those between two VMs are, too. `hops: 2`, `sriov`."""
    multiqueue: int = Field(default=1, ge=1, le=8)
    """Queues of each interface; 1 to 8."""
    mbufs: int | None = Field(default=None, ge=1)
    """Buffers of VPP in the VM, from 1; null: its own number. `vpp`."""
    tagged: bool = True
    """Whether the tester's frames carry the VLAN tags of the networks; else what joins the tester to the cloud puts
    them on."""
    management: bool = False
    """Whether VMs have an interface to log in by."""
    floating_ip: bool = False
    """Whether that one has a floating address."""
    networks: NetworksConfig = NetworksConfig()
    """Networks of the chains."""
    router_names: RouterNamesConfig = RouterNamesConfig()
    """Names of the routers, with `routers`."""
    external: ExternalConfig = ExternalConfig()
    """Networks of a SUT that others staged."""
    keep: bool = False
    """Whether everything stays when the run is over, to be taken as it is by the next."""
    active_timeout: Seconds = 200.0
    """How long the first VM may take to become active, as `200s`; each further one has 10 s more."""
    poll: Seconds = 1.0
    """How often to look, as `1s`; above 0."""
