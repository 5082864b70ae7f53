"""Service chains in OpenStack: the resources to stage, and the staged ones."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

NetworkRole = Literal["left", "right", "middle", "idle", "management", "floating", "edge_left", "edge_right"]
"""Purpose of a network. Edges are between the tester and Neutron routers in front of the chains."""
NetworkKind = Literal["vlan", "vxlan", "flat", "mpls", "any"]
"""Neutron's provider:network_type; `any` leaves it to the cloud, which users without administrator rights must."""
VnicType = Literal["normal", "direct"]
"""Neutron's binding:vnic_type: through the virtual switch, or a virtual function of a card."""
LoopbackForwarder = Literal["vnf-l2", "vnf-l3", "testpmd", "vpp"]
"""Forwarder in a loopback VM: nodrop's own, or one that the image provides."""
ResourceKind = Literal[
    "image", "flavor", "network", "subnet", "port", "server", "server_group", "router", "floating_ip"
]
"""Kinds of resources, in the order of their creation."""


class CloudLogin(Value):
    """Location of the cloud and its credentials; never a password."""

    cloud: str | None = None
    """Name in clouds.yaml; None: `openrc`, or the environment (OS_CLOUD, OS_AUTH_URL, ...)."""
    openrc: str | None = None
    """A file of shell assignments to OS_... variables."""


class CloudImage(Value):
    """The image of the loopback VMs."""

    name: str
    """An existing image of this name in Glance is used."""
    file: str | None = None
    """File to upload otherwise; None: the image must exist."""
    properties: dict[str, str] = Field(default_factory=dict)
    """For example `hw_vif_multiqueue_enabled`; set if they differ."""


class CloudFlavor(Value):
    """The flavor of the loopback VMs; an existing flavor of this name is used, otherwise it is created."""

    name: str
    vcpus: int = Field(ge=1)
    ram_mib: int = Field(ge=1)
    disk_gib: int = Field(ge=0)
    extra_specs: dict[str, str] = Field(default_factory=dict)


class CloudNetwork(Value):
    """A network with its subnet; an existing network of this name that matches is used, otherwise it is created."""

    name: str
    role: NetworkRole
    chain: int | None = None
    """The chain that owns it; None: shared by all."""
    must_exist: bool = False
    """Whether it is only looked up, and never created or deleted."""
    kind: NetworkKind = "vlan"
    segmentation_id: int | None = None
    """VLAN or VNI; None: chosen by Neutron and read back."""
    physical_network: str | None = None
    subnet: str | None = None
    """Name of the subnet; None: no subnet."""
    cidr: str | None = None
    gateway: str | None = None
    """Address of its router; None: none."""
    transport_label: int | None = None
    """MPLS: outer label of frames to it."""


class CloudPort(Value):
    """A port of a server."""

    name: str
    network: str
    """Name of the network."""
    vnic_type: VnicType = "normal"


class CloudRoute(Value):
    """Destinations behind a router or a neighbor."""

    prefix: str
    via: str


class CloudServer(Value):
    """A loopback VM."""

    name: str
    chain: int = Field(ge=0)
    hop: int = Field(default=0, ge=0)
    """Position in its chain, from the left."""
    ports: tuple[CloudPort, ...] = Field(min_length=2)
    """Towards the left and the right of its chain, then idle ports, then the management port."""
    forwarder: LoopbackForwarder = "vnf-l2"
    addresses: tuple[str, str] | None = None
    """Its addresses on the left and on the right, with prefix lengths, if it routes."""
    routes: tuple[CloudRoute, ...] = ()
    """Its routes, if it routes."""
    floating_ip: bool = False
    """Whether its management port has a floating address."""


class CloudRouter(Value):
    """A Neutron router between the tester and one side of the chains."""

    name: str
    networks: tuple[str, str]
    """Names of the network towards the tester and the network towards the chains."""
    routes: tuple[CloudRoute, ...] = ()


class CloudPlan(Value):
    """All resources of a cloud, in the order of their creation; deletion is in reverse order."""

    login: CloudLogin
    label: str = "nodrop"
    """Ownership tag of created resources."""
    image: CloudImage | None = None
    """None if no VM is started."""
    flavor: CloudFlavor | None = None
    networks: tuple[CloudNetwork, ...]
    servers: tuple[CloudServer, ...] = ()
    """Chain by chain, each from left to right."""
    routers: tuple[CloudRouter, ...] = ()
    server_group: str | None = None
    """Policy of the VMs' server group, e.g. `affinity` or `anti-affinity`; None: no group."""
    availability_zone: str | None = None
    hosts: tuple[str, ...] = ()
    """Compute hosts of the VMs, assigned to chains in rotation; empty: chosen by Nova."""
    same_host: bool = True
    """Whether all VMs of a chain are on the host of its first VM if no host is configured."""
    multiqueue: int = Field(default=1, ge=1, le=8)
    """Queues of each interface of a VM."""
    mbuf_count: int | None = None
    """Packet buffers of VPP in a VM; None: VPP's default."""
    tester_macs: tuple[str, str] | None = None
    """The tester's ports, left and right: destinations of frames that leave a chain."""
    active_timeout_s: float = Field(default=200.0, gt=0)
    """Time for the first server to become ACTIVE; each further server adds 10 s."""
    poll_s: float = Field(default=1.0, gt=0)
    """Interval between status requests."""
    keep: bool = False
    """Whether resources stay after the run; the next run with the same plan reuses them."""


class CloudResource(Value):
    """A resource in the cloud."""

    kind: ResourceKind
    name: str
    id: str
    found: bool = False
    """Whether it existed before, and is therefore not deleted."""


class CloudServerFacts(Value):
    """A running loopback VM."""

    name: str
    id: str
    chain: int
    hop: int
    host: str
    """Compute host; empty if hidden from this user."""
    availability_zone: str = ""
    macs: tuple[str, ...] = ()
    """MAC addresses of its ports, in the plan's order."""
    address: str | None = None
    """Address for logins, if it has a management port."""
    restaged: bool = False
    """Whether it was created again, because no frames passed the first one."""


class CloudNetworkFacts(Value):
    """A network as Neutron reports it."""

    name: str
    id: str
    role: NetworkRole
    chain: int | None = None
    kind: str | None = None
    """None if hidden from this user."""
    segmentation_id: int | None = None
    physical_network: str | None = None
    mtu_bytes: int | None = None


class CloudFacts(Value):
    """The staged resources, and the cost of staging."""

    cloud: str
    """Name of the cloud, or host of its identity service."""
    is_admin: bool
    networks: tuple[CloudNetworkFacts, ...] = ()
    servers: tuple[CloudServerFacts, ...] = ()
    resources: tuple[CloudResource, ...] = ()
    """In the order of creation or lookup."""
    api_call_counts: dict[str, int] = Field(default_factory=dict)
    """Requests by service, e.g. `network`."""
    stage_s: float = 0.0
    """Time until all servers were ACTIVE."""
