"""Every key of NFVbench's configuration, with its default there. They are other names for nodrop's own keys
(`translation.py`), or kept for a stage or generator that is not there yet (`kept.py`)."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from nodrop.config.nfvbench.value_types import (
    Address,
    Chain,
    Count,
    IpStep,
    Labels,
    Loopback,
    Macs,
    Names,
    Network,
    Pair,
    Percent,
    Ports,
    PortStep,
    Rate,
    Seconds,
    Segments,
    Sizes,
    Speed,
    Step,
    Text,
    Vlan,
    Vlans,
    as_list,
)
from nodrop.model.base import Value

NetworkType = Literal["vlan", "vxlan", "mpls"]


class Flavor(Value):
    """What a loopback VM is given."""

    vcpus: int = Field(default=2, ge=1)
    """Virtual CPUs; from 1."""
    ram: int = Field(default=4096, ge=1)
    """Memory in MB; from 1."""
    disk: int = Field(default=0, ge=0)
    """Disk in GB; from 0."""
    extra_specs: dict[str, Any] = Field(default={"hw:cpu_policy": "dedicated", "hw:mem_page_size": "large"})
    """Properties of the flavor, as OpenStack has them; any."""


class Generator(Value):
    """One traffic generator; keys beside these are let through."""

    model_config = ConfigDict(extra="allow")

    name: str
    """What `default_profile` calls it."""
    tool: str = "TRex"
    """The program."""
    ip: str | None = None
    """Where it is reached."""


def _generators() -> tuple[Generator, ...]:
    interfaces = [{"port": port, "pci": None, "switch_port": None} for port in (0, 1)]
    return (
        Generator.model_validate(
            {
                "name": "trex-local",
                "tool": "TRex",
                "ip": "127.0.0.1",
                "cores": 4,
                "software_mode": False,
                "limit_memory": 1024,
                "zmq_pub_port": 4500,
                "zmq_rpc_port": 4501,
                "interfaces": interfaces,
                "intf_speed": None,
            }
        ),
    )


class TrafficGenerator(Value):
    """Addresses and ports of the traffic, and the generators there are."""

    host_name: str = "nfvbench_tg"
    """A name for the generator's host, for readers."""
    default_profile: str = "trex-local"
    """Which of `generator_profile` is used."""
    ip_addrs: tuple[Network, ...] = Field(default=("10.0.0.0/8", "20.0.0.0/8"), min_length=2, max_length=2)
    """Networks left and right whose addresses the traffic comes from and goes to."""
    ip_addrs_step: IpStep = "0.0.0.1"
    """From one of those addresses to the next, as `0.0.0.1`, or `random`."""
    ip_src_static: bool = True
    """Whether each chain has one source address only."""
    tg_gateway_ip_addrs: Pair = ("192.168.1.100", "192.168.2.100")
    """The tester's own addresses left and right for the first chain."""
    tg_gateway_ip_cidrs: tuple[Network, ...] = Field(
        default=("192.168.1.0/24", "192.168.2.0/24"), min_length=2, max_length=2
    )
    """Networks that those addresses are in."""
    tg_gateway_ip_addrs_step: Step = "0.0.0.1"
    """From the tester's address of one chain to that of the next."""
    gateway_ip_addrs: Pair = ("192.168.1.1", "192.168.2.1")
    """The SUT's addresses left and right for the first chain, whose MAC addresses are asked for."""
    gateway_ip_addrs_step: Step = "0.0.0.1"
    """From the SUT's address of one chain to that of the next."""
    udp_src_port: Ports = None
    """UDP source port, or first and last of a range, as `[1024, 2048]`; 1 to 65535. Null: 53."""
    udp_dst_port: Ports = None
    """UDP destination port, or first and last of a range; 1 to 65535. Null: 53."""
    udp_port_step: PortStep = "1"
    """From one port to the next, 1 to 65535, or `random`."""
    vtep_vlan: Vlan | None = None
    """VLAN of the frames outside of a tunnel; 1 to 4094. Null: none."""
    src_vteps: Pair | None = None
    """Addresses left and right that tunnels begin at."""
    dst_vtep: Address | None = None
    """Address that VXLAN tunnels lead to."""
    vtep_gateway_ips: Pair | None = None
    """Next hops left and right of the tunnels' outer packets."""
    mac_addrs_left: Macs = None
    """Destination MAC addresses of the left port, one for each chain."""
    mac_addrs_right: Macs = None
    """Destination MAC addresses of the right port, one for each chain."""
    generator_profile: tuple[Generator, ...] = Field(default_factory=_generators)
    """Traffic generators, each with name, tool, interfaces and cores."""


class OpenStackNetwork(Value):
    """A network as OpenStack has it."""

    name: str | None = None
    """Its name, or what its name begins with."""
    subnet: str | None = None
    """Name of its subnet."""
    cidr: Network | None = None
    """Addresses of its subnet."""
    network_type: NetworkType = "vlan"
    """What tells it from other networks: `vlan`, `vxlan` or `mpls`."""
    segmentation_id: Segments = None
    """VLAN, VNI or inner MPLS label: one, counted up by chain, or a list with one for each chain; 0 to 16777215."""
    physical_network: Names = None
    """Physical network, one or one for each chain."""


class InternalNetwork(OpenStackNetwork):
    """A network between tester and chain, or inside a chain."""

    mpls_transport_labels: Labels = None
    """Outer MPLS label, one for each chain; 0 to 1048575."""


class InternalNetworks(Value):
    """Networks left and right of the chains, and in the middle of those with two VNFs."""

    left: InternalNetwork = InternalNetwork(
        name="nfvbench-lnet", subnet="nfvbench-lsubnet", cidr="192.168.1.0/24", network_type="vlan"
    )
    """From the left port on."""
    right: InternalNetwork = InternalNetwork(
        name="nfvbench-rnet", subnet="nfvbench-rsubnet", cidr="192.168.2.0/24", network_type="vlan"
    )
    """From the right port on."""
    middle: InternalNetwork = InternalNetwork(
        name="nfvbench-mnet", subnet="nfvbench-msubnet", cidr="192.168.3.0/24", network_type="vlan"
    )
    """Between two VNFs of a chain."""


class ManagementNetwork(OpenStackNetwork):
    """The network to reach loopback VMs by."""

    gateway: Address | None = "192.168.0.254"
    """Its gateway."""


class ExternalNetworks(Value):
    """Networks of chains that others have set up."""

    left: Names = None
    """What their names begin with on the left, or a list of names."""
    right: Names = None
    """What their names begin with on the right, or a list of names."""


class EdgeNetwork(OpenStackNetwork):
    """A network between a router and the loopback VM."""

    router_name: str | None = None
    """Name of the router."""
    gateway: Address | None = None
    """Address of the router there."""


class EdgeNetworks(Value):
    """Networks behind routers in the path."""

    left: EdgeNetwork = EdgeNetwork(
        name="nfvbench-net2", router_name="router_left", subnet="nfvbench-subnet2", cidr="192.168.3.0/24"
    )
    """On the left."""
    right: EdgeNetwork = EdgeNetwork(
        name="nfvbench-net3", router_name="router_right", subnet="nfvbench-subnet3", cidr="192.168.4.0/24"
    )
    """On the right."""


class TrafficProfile(Value):
    """A named list of frame sizes."""

    name: str
    """What `traffic.profile` calls it."""
    l2frame_size: Sizes
    """Frame sizes with FCS in bytes, or IMIX; each is a run of its own."""


class TrafficChoice(Value):
    """Which traffic, and which way."""

    bidirectional: bool = True
    """Whether traffic goes both ways at once."""
    profile: str = "traffic_profile_64B"
    """Which of `traffic_profile`: `traffic_profile_64B`, `_IMIX`, `_1518B`, `_3sizes`, or one of one's own."""


class Measurement(Value):
    """What counts as no loss and as little loss, and how precisely to look for it."""

    NDR: Percent = Field(default=0.001, ge=0, lt=100)
    """Frames that may be lost at the no drop rate, in percent; 0 up to, not including, 100."""
    PDR: Percent = Field(default=0.1, ge=0, lt=100)
    """Frames that may be lost at the partial drop rate, in percent; 0 up to, not including, 100."""
    load_epsilon: Percent = Field(default=0.1, gt=0, lt=100)
    """How close the bounds have to be, in percent of the line rate; above 0, below 100."""


class FluentdServer(Value):
    """A Fluentd server; keys beside these are nodrop's own, of `ship.fluentd`."""

    model_config = ConfigDict(extra="allow")

    logging_tag: str | None = None
    """Tag of log records; null: none are sent."""
    result_tag: str | None = None
    """Tag of result records; null: none are sent."""
    ip: str = "127.0.0.1"
    """Where it listens."""
    port: int = Field(default=24224, ge=1, le=65535)
    """TCP port; 1 to 65535."""


OneOrMoreAggregators = BeforeValidator(
    lambda written: as_list(written) or (), json_schema_input_type=list[FluentdServer] | FluentdServer | None
)
"""One server may stand without a list around it; null is none."""


class NfvbenchConfig(Value):
    """NFVbench's configuration, as far as it was written, with its defaults for the rest."""

    openrc_file: str | None = None
    """OpenStack credentials, a file; null or empty: no OpenStack."""
    clouds_detail: str | None = None
    """Name of a cloud in clouds.yaml, instead."""
    vm_forwarder: Literal["testpmd", "vpp"] = "testpmd"
    """What a loopback VNF does: `testpmd` joins two ports, `vpp` routes."""
    vm_image_file: str | None = None
    """Image of loopback VMs, a file."""
    flavor_type: str = "nfvbench.medium"
    """OpenStack flavor of loopback VMs."""
    flavor: Flavor = Flavor()
    """What that flavor is made of, where it is made."""
    vif_multiqueue_size: int = Field(default=1, ge=1, le=8)
    """Queues of each VM interface; 1 to 8."""
    num_mbufs: int = Field(default=16384, ge=1)
    """Packet buffers of a VPP forwarder; from 1."""
    availability_zone: str | None = None
    """OpenStack availability zone of the VMs."""
    compute_nodes: Names = None
    """Where the VMs run: `node`, `zone:` or `zone:node`."""
    hypervisor_hostname: str | None = None
    """Hypervisor of the VMs, for users who are no administrators."""
    service_chain: Chain = "PVP"
    """The path: `PVP`, one VNF in each chain; `PVVP`, two; `EXT`, what others have set up."""
    service_chain_count: int = Field(default=1, ge=1, le=128)
    """Chains beside each other; 1 to 128."""
    service_chain_shared_net: bool = False
    """Whether all chains share one network on each side."""
    flow_count: Count = Field(default=10000, ge=1)
    """Flows over all chains and directions, as `100k`; from 1."""
    sriov: bool = False
    """Whether VMs have SR-IOV ports."""
    l2_loopback: Loopback = Field(default=False, validate_default=True)
    """Whether the two ports are joined to one another: `true`, `no-tag`, or VLANs, as `100`, `100,101`, `100_200`."""
    no_cleanup: bool = False
    """Whether what was staged is left standing."""
    traffic_generator: TrafficGenerator = TrafficGenerator()
    """Addresses and ports of the traffic, and the generators there are."""
    restart: bool = False
    """Whether TRex is started anew."""
    cores: int | None = Field(default=None, ge=1)
    """CPU cores of the generator; from 1. Null: the profile's."""
    intf_speed: Speed = None
    """What counts as line rate, as `10Gbps`; null or `auto`: the interfaces' own."""
    cores_used: int | None = None
    """Set in results: the cores used."""
    intf_speed_used: float | None = None
    """Set in results: the line rate used, in bits per second."""
    intf_speed_detected: float | None = None
    """Set in results: the interfaces' speed, in bits per second."""
    cache_size: int = Field(default=0, le=10000)
    """Frames that TRex makes beforehand; up to 10000, below 0: as many as flows."""
    i40e_mixed: Literal["ignore", "exit", "unbind", "check"] | None = None
    """What TRex does about i40e interfaces the kernel uses: `ignore`, `exit`, `unbind` or `check`."""
    mbuf_64: int | None = Field(default=None, ge=1)
    """Small packet buffers of TRex; from 1."""
    mbuf_factor: float = Field(default=0.2, gt=0)
    """Scale of TRex's packet buffers; above 0."""
    disable_hdrh: bool = False
    """Whether latency is left without percentiles."""
    lat_percentiles: Annotated[
        tuple[Annotated[float, Field(ge=0, le=100)], ...], Field(min_length=1, max_length=100)
    ] = (25, 75, 99)
    """Latency percentiles to report; each 0 to 100."""
    check_traffic_time_sec: Seconds = Field(default=200, gt=0)
    """How long the end-to-end check may take, in seconds; above 0."""
    generic_retry_count: int = Field(default=100, ge=1)
    """How often something is tried again; from 1."""
    generic_poll_sec: Seconds = Field(default=2, gt=0)
    """Time from one try to the next, in seconds; above 0."""
    loop_vm_name: str = "nfvbench-loop-vm"
    """What the names of loopback VMs begin with."""
    internal_networks: InternalNetworks = InternalNetworks()
    """Networks of the chains."""
    idle_interfaces_per_vm: int = Field(default=0, ge=0, le=8)
    """Interfaces of each VNF without traffic; 0 to 8."""
    idle_networks: OpenStackNetwork = OpenStackNetwork(
        name="nfvbench-idle-net", subnet="nfvbench-idle-subnet", cidr="192.169.1.0/24"
    )
    """Networks of those interfaces."""
    use_management_port: bool = False
    """Whether loopback VMs can be logged in to."""
    management_network: ManagementNetwork = ManagementNetwork(
        name="nfvbench-management-net", subnet="nfvbench-management-subnet", cidr="192.168.0.0/24"
    )
    """The network to do so."""
    use_floating_ip: bool = False
    """Whether they have a floating IP address for that."""
    floating_network: OpenStackNetwork = OpenStackNetwork(
        name="nfvbench-floating-net", subnet="nfvbench-floating-subnet", cidr="192.168.0.0/24"
    )
    """The network of those addresses."""
    use_sriov_middle_net: bool = False
    """Whether two VNFs of a chain are joined by SR-IOV."""
    external_networks: ExternalNetworks = ExternalNetworks()
    """OpenStack networks of an `EXT` chain."""
    edge_networks: EdgeNetworks = EdgeNetworks()
    """Networks behind routers in the path."""
    vxlan: bool = False
    """Whether frames are put into VXLAN."""
    mpls: bool = False
    """Whether frames are put into MPLS, two labels deep."""
    vlan_tagging: bool = True
    """Whether frames leave the tester with a VLAN tag."""
    vlans: Vlans = None
    """VLANs left and right, one for each chain, as `[[100, 101], [200, 201]]`; 1 to 4094. Null or `[]`: none."""
    no_arp: bool = False
    """Whether MAC addresses are not asked for."""
    loop_vm_arp: bool = False
    """Whether they are asked for where a VNF routes."""
    traffic_profile: tuple[TrafficProfile, ...] = (
        TrafficProfile(name="traffic_profile_64B", l2frame_size=("64",)),
        TrafficProfile(name="traffic_profile_IMIX", l2frame_size=("IMIX",)),
        TrafficProfile(name="traffic_profile_1518B", l2frame_size=("1518",)),
        TrafficProfile(name="traffic_profile_3sizes", l2frame_size=("64", "IMIX", "1518")),
    )
    """Named lists of frame sizes."""
    traffic: TrafficChoice = TrafficChoice()
    """Which of them, and which way."""
    no_traffic: bool = False
    """Whether everything is set up and checked, and nothing measured."""
    l3_router: bool = False
    """Whether there are routers between tester and VNF."""
    periodic_gratuitous_arp: bool = False
    """Whether the tester announces its addresses during trials."""
    gratuitous_arp_pps: float = Field(default=1, gt=0, le=1000)
    """How often it does, times a second; above 0, up to 1000."""
    unidir_reverse_traffic_pps: int = Field(default=1, ge=0)
    """Frames per second the other way where traffic goes one way; from 0."""
    rate: Rate = "ndr_pdr"
    """What to do: `ndr`, `pdr`, `ndr_pdr`, or a fixed rate, as `10kpps`, `2.5Gbps` or `50%`."""
    duration_sec: Seconds = Field(default=60, gt=0)
    """Duration of a trial, in seconds; above 0."""
    interval_sec: Seconds = Field(default=10, ge=0)
    """How often a fixed rate run says how it goes, in seconds; 0: never."""
    pause_sec: Seconds = Field(default=2, ge=0)
    """Pause after each trial of a search, in seconds; from 0."""
    measurement: Measurement = Measurement()
    """What to look for, and how precisely."""
    json_file: str | None = Field(default=None, alias="json")
    """File the result goes to as well."""
    std_json: str | None = None
    """Directory the result goes to as well, in a file named after what was measured."""
    debug: bool = False
    """Whether to log more."""
    log_file: str | None = None
    """File the log goes to."""
    user_id: int | None = Field(default=None, ge=0)
    """User who is to own the files written; from 0."""
    group_id: int | None = Field(default=None, ge=0)
    """Group that is to own them; from 0."""
    fluentd: Annotated[tuple[FluentdServer, ...], OneOrMoreAggregators] = (FluentdServer(),)
    """Fluentd servers that records are sent to."""
    factory_module: str = "nfvbench.factory"
    """Python module of a plugin for NFVbench."""
    factory_class: str = "BasicFactory"
    """Class in that module."""
    user_label: Text | None = None
    """A label for the result."""
    user_info: Any = None
    """Anything to keep with the result; in `extra_encapsulation_bytes`, the headers that are added to each frame."""
    no_vswitch_access: bool = False
    """Whether a plugin leaves the virtual switch alone."""
    service_mode: bool = False
    """Whether TRex is left so that packets can be captured."""
    no_flow_stats: bool = False
    """Whether TRex counts no flows."""
    no_latency_stats: bool = False
    """Whether latency is not reported."""
    no_latency_streams: bool = False
    """Whether there are no streams to measure latency with."""
    no_e2e_check: bool = False
    """Whether the path is not checked before the traffic."""
    debug_mask: int = 0
    """Unused."""
