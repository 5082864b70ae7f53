"""Service chains in OpenStack: what is to be staged there, decided to the last port, and what was."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

NetworkRole = Literal["left", "right", "middle", "idle", "management", "floating", "edge_left", "edge_right"]
"""What a network is for. Edges are between the tester and routers of Neutron, where these stand before the chains."""
NetworkKind = Literal["vlan", "vxlan", "flat", "mpls", "any"]
"""Neutron's provider:network_type; `any` leaves it to the cloud, as it does for those who are no administrators."""
VnicType = Literal["normal", "direct"]
"""Neutron's binding:vnic_type: by the virtual switch, or a virtual function of a card."""
LoopbackForwarder = Literal["vnf-l2", "vnf-l3", "testpmd", "vpp"]
"""What forwards in a loopback VM: nodrop's own, or what an image has besides."""
ResourceKind = Literal[
    "image", "flavor", "network", "subnet", "port", "server", "server_group", "router", "floating_ip"
]
"""Kinds of what is staged, in the order in which they are made."""


class CloudLogin(Value):
    """Where the cloud is and who asks; never a password."""

    cloud: str | None = None
    """Its name in clouds.yaml; None: what `openrc` or the environment (OS_CLOUD, OS_AUTH_URL, ...) says."""
    openrc: str | None = None
    """A file of shell assignments to OS_... variables."""


class CloudImage(Value):
    """The image of the loopback VMs."""

    name: str
    """Taken where Glance has one of this name."""
    file: str | None = None
    """Uploaded where it has not; None: it has to be there."""
    properties: dict[str, str] = Field(default_factory=dict)
    """As `hw_vif_multiqueue_enabled`; set where they differ."""


class CloudFlavor(Value):
    """The flavor of the loopback VMs; taken where Nova has one of this name, made otherwise."""

    name: str
    vcpus: int = Field(ge=1)
    ram_mib: int = Field(ge=1)
    disk_gib: int = Field(ge=0)
    extra_specs: dict[str, str] = Field(default_factory=dict)


class CloudNetwork(Value):
    """A network with its subnet; taken where the project has one of this name that fits, made otherwise."""

    name: str
    role: NetworkRole
    chain: int | None = None
    """The chain whose own it is; None: it is shared by all."""
    must_exist: bool = False
    """Whether it is looked for only, and never made or taken away."""
    kind: NetworkKind = "vlan"
    segmentation_id: int | None = None
    """VLAN or VNI; None: Neutron chooses, and it is read back."""
    physical_network: str | None = None
    subnet: str | None = None
    """Its name; None: the network needs none."""
    cidr: str | None = None
    gateway: str | None = None
    """Address of its router; None: it has none."""
    transport_label: int | None = None
    """MPLS: outer label of the frames to it."""


class CloudPort(Value):
    """A port of a server."""

    name: str
    network: str
    """By name."""
    vnic_type: VnicType = "normal"


class CloudRoute(Value):
    """Destinations behind a router or a neighbour."""

    prefix: str
    via: str


class CloudServer(Value):
    """A loopback VM."""

    name: str
    chain: int = Field(ge=0)
    hop: int = Field(default=0, ge=0)
    """Position in its chain, from the left."""
    ports: tuple[CloudPort, ...] = Field(min_length=2)
    """Towards the left and the right of its chain, then those that stay idle, then that of management."""
    forwarder: LoopbackForwarder = "vnf-l2"
    addresses: tuple[str, str] | None = None
    """With prefix lengths: its own on the left and on the right, where it routes."""
    routes: tuple[CloudRoute, ...] = ()
    """What it reaches by which neighbour, where it routes."""
    floating_ip: bool = False
    """Whether its port of management gets one."""


class CloudRouter(Value):
    """A router of Neutron between the tester and one side of the chains."""

    name: str
    networks: tuple[str, str]
    """By name: of the tester's side, and of the chains' side."""
    routes: tuple[CloudRoute, ...] = ()


class CloudPlan(Value):
    """Everything that is to stand in a cloud, in the order in which it is made; in the reverse one it is taken away."""

    login: CloudLogin
    label: str = "nodrop"
    """Tag of what is made, by which it is found again."""
    image: CloudImage | None = None
    """None where no VM is started."""
    flavor: CloudFlavor | None = None
    networks: tuple[CloudNetwork, ...]
    servers: tuple[CloudServer, ...] = ()
    """Chain by chain, each from left to right."""
    routers: tuple[CloudRouter, ...] = ()
    server_group: str | None = None
    """Policy of the group the VMs are in, as `affinity` or `anti-affinity`; None: no group."""
    availability_zone: str | None = None
    hosts: tuple[str, ...] = ()
    """Compute hosts the VMs are started on, chain by chain in turn; none: Nova chooses."""
    same_host: bool = True
    """Whether all VMs of a chain have to be on one host, that of the first, where no host is named."""
    multiqueue: int = Field(default=1, ge=1, le=8)
    """Queues of each interface of a VM."""
    mbuf_count: int | None = None
    """Buffers that VPP is given in a VM; None: as many as it takes."""
    tester_macs: tuple[str, str] | None = None
    """The tester's ports, left and right: where VMs send frames that leave a chain."""
    active_timeout_s: float = Field(default=200.0, gt=0)
    """Time for the first server to become ACTIVE; each further one has 10 s more."""
    poll_s: float = Field(default=1.0, gt=0)
    """How often to look."""
    keep: bool = False
    """Whether it stays when the run is over; the next run that wants the same takes it as it is."""


class CloudResource(Value):
    """Something that is in the cloud."""

    kind: ResourceKind
    name: str
    id: str
    found: bool = False
    """Whether it was there before, and so is left there."""


class CloudServerFacts(Value):
    """A loopback VM as it stands."""

    name: str
    id: str
    chain: int
    hop: int
    host: str
    """Compute host; empty where it is not told to this user."""
    availability_zone: str = ""
    macs: tuple[str, ...] = ()
    """Of its ports, in the plan's order."""
    address: str | None = None
    """By which it can be logged in to, where it has a port of management."""
    restaged: bool = False
    """Whether it was made a second time, because nothing passed the first one."""


class CloudNetworkFacts(Value):
    """A network as Neutron tells it."""

    name: str
    id: str
    role: NetworkRole
    chain: int | None = None
    kind: str | None = None
    """None where it is not told to this user."""
    segmentation_id: int | None = None
    physical_network: str | None = None
    mtu_bytes: int | None = None


class CloudFacts(Value):
    """What stands in the cloud, and what it took."""

    cloud: str
    """Its name, or its identity service's host."""
    is_admin: bool
    networks: tuple[CloudNetworkFacts, ...] = ()
    servers: tuple[CloudServerFacts, ...] = ()
    resources: tuple[CloudResource, ...] = ()
    """In the order in which they were made or found."""
    api_call_counts: dict[str, int] = Field(default_factory=dict)
    """Requests by service, as `network`."""
    stage_s: float = 0.0
    """Until all servers were ACTIVE."""
