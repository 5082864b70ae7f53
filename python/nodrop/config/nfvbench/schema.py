"""All keys of NFVbench's configuration, with NFVbench's defaults. `rules.py` translates them to nodrop's keys;
`untranslated.py` lists those without an effect."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from nodrop.config.nfvbench.section import Section
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
    wrap_list,
)

NetworkType = Literal["vlan", "vxlan", "mpls"]


class Flavor(Section):
    """The flavor of the loopback VMs."""

    vcpus: int = Field(default=2, ge=1)
    """Virtual CPUs; from 1."""
    ram: int = Field(default=4096, ge=1)
    """Memory in MB; from 1."""
    disk: int = Field(default=0, ge=0)
    """Disk in GB; from 0."""
    extra_specs: dict[str, Any] = Field(default={"hw:cpu_policy": "dedicated", "hw:mem_page_size": "large"})
    """Extra specs of the flavor, as in OpenStack."""


class Generator(Section):
    """A traffic generator; further keys are accepted."""

    model_config = ConfigDict(extra="allow")

    name: str
    """Name for `default_profile`."""
    tool: str = "TRex"
    """Program of the generator."""
    ip: str | None = None
    """Address of the generator."""


def _list_generators() -> tuple[Generator, ...]:
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


class TrafficGenerator(Section):
    """Addresses and ports of the traffic, and the available generators."""

    host_name: str = "nfvbench_tg"
    """Name of the generator's host, for readers."""
    default_profile: str = "trex-local"
    """Name of the `generator_profile` to use."""
    ip_addrs: tuple[Network, ...] = Field(default=("10.0.0.0/8", "20.0.0.0/8"), min_length=2, max_length=2)
    """Source and destination networks of the traffic, left and right."""
    ip_addrs_step: IpStep = "0.0.0.1"
    """Increment from one address to the next, e.g. `0.0.0.1`, or `random`."""
    ip_src_static: bool = True
    """Use a single source address for each chain."""
    tg_gateway_ip_addrs: Pair = ("192.168.1.100", "192.168.2.100")
    """The tester's addresses for the first chain, left and right."""
    tg_gateway_ip_cidrs: tuple[Network, ...] = Field(
        default=("192.168.1.0/24", "192.168.2.0/24"), min_length=2, max_length=2
    )
    """Networks of those addresses."""
    tg_gateway_ip_addrs_step: Step = "0.0.0.1"
    """Increment of the tester's address from one chain to the next."""
    gateway_ip_addrs: Pair = ("192.168.1.1", "192.168.2.1")
    """The SUT's addresses for the first chain, left and right, whose MAC addresses are resolved."""
    gateway_ip_addrs_step: Step = "0.0.0.1"
    """Increment of the SUT's address from one chain to the next."""
    udp_src_port: Ports = None
    """UDP source port, or the first and the last, e.g. `[1024, 2048]`; 1 to 65535. Null: 53."""
    udp_dst_port: Ports = None
    """UDP destination port, or the first and the last; 1 to 65535. Null: 53."""
    udp_port_step: PortStep = "1"
    """Increment from one port to the next, 1 to 65535, or `random`."""
    vtep_vlan: Vlan | None = None
    """Outer VLAN of tunneled frames; 1 to 4094. Null: none."""
    src_vteps: Pair | None = None
    """Source addresses of tunnels, left and right."""
    dst_vtep: Address | None = None
    """Destination address of VXLAN tunnels."""
    vtep_gateway_ips: Pair | None = None
    """Next hops of the tunnels' outer packets, left and right."""
    mac_addrs_left: Macs = None
    """Destination MAC addresses of the left port, one for each chain."""
    mac_addrs_right: Macs = None
    """Destination MAC addresses of the right port, one for each chain."""
    generator_profile: tuple[Generator, ...] = Field(default_factory=_list_generators)
    """Traffic generators, each with name, tool, interfaces and cores."""


class OpenStackNetwork(Section):
    """A network in OpenStack."""

    name: str | None = None
    """Name, or name prefix."""
    subnet: str | None = None
    """Name of its subnet."""
    cidr: Network | None = None
    """Addresses of its subnet."""
    network_type: NetworkType = "vlan"
    """Network type: `vlan`, `vxlan` or `mpls`."""
    segmentation_id: Segments = None
    """VLAN, VNI or inner MPLS label: one, incremented by chain, or a list with one for each chain; 0 to 16777215."""
    physical_network: Names = None
    """Physical network, one or one for each chain."""


class InternalNetwork(OpenStackNetwork):
    """A network between tester and chain, or inside a chain."""

    mpls_transport_labels: Labels = None
    """Outer MPLS label, one for each chain; 0 to 1048575."""


class InternalNetworks(Section):
    """Networks left and right of the chains, and between the two VNFs of a chain."""

    left: InternalNetwork = InternalNetwork(
        name="nfvbench-lnet", subnet="nfvbench-lsubnet", cidr="192.168.1.0/24", network_type="vlan"
    )
    """At the left port."""
    right: InternalNetwork = InternalNetwork(
        name="nfvbench-rnet", subnet="nfvbench-rsubnet", cidr="192.168.2.0/24", network_type="vlan"
    )
    """At the right port."""
    middle: InternalNetwork = InternalNetwork(
        name="nfvbench-mnet", subnet="nfvbench-msubnet", cidr="192.168.3.0/24", network_type="vlan"
    )
    """Between two VNFs of a chain."""


class ManagementNetwork(OpenStackNetwork):
    """The network for logins to loopback VMs."""

    gateway: Address | None = "192.168.0.254"
    """Its gateway."""


class ExternalNetworks(Section):
    """Networks of external chains."""

    left: Names = None
    """Name prefix on the left, or a list of names."""
    right: Names = None
    """Name prefix on the right, or a list of names."""


class EdgeNetwork(OpenStackNetwork):
    """A network between a router and the loopback VM."""

    router_name: str | None = None
    """Name of the router."""
    gateway: Address | None = None
    """Address of the router in this network."""


class EdgeNetworks(Section):
    """Networks behind routers in the path."""

    left: EdgeNetwork = EdgeNetwork(
        name="nfvbench-net2", router_name="router_left", subnet="nfvbench-subnet2", cidr="192.168.3.0/24"
    )
    """On the left."""
    right: EdgeNetwork = EdgeNetwork(
        name="nfvbench-net3", router_name="router_right", subnet="nfvbench-subnet3", cidr="192.168.4.0/24"
    )
    """On the right."""


CUSTOM_PROFILE = "custom_traffic_profile"
"""NFVbench's name for frame sizes that the chosen profile does not list."""


class TrafficProfile(Section):
    """A named list of frame sizes."""

    name: str
    """Name for `traffic.profile`."""
    l2frame_size: Sizes
    """Frame sizes with FCS in bytes, or IMIX; each is measured in a run of its own."""

    @property
    def frame_sizes(self) -> tuple[int | str, ...]:
        """The frame sizes as measured: each once, at least 64 bytes."""
        return tuple(dict.fromkeys(size if size == "IMIX" else max(64, int(size)) for size in self.l2frame_size))


class TrafficChoice(Section):
    """The traffic profile and its directions."""

    bidirectional: bool = True
    """Send traffic in both directions at once."""
    profile: str = "traffic_profile_64B"
    """Name of a `traffic_profile`: `traffic_profile_64B`, `_IMIX`, `_1518B`, `_3sizes`, or a custom one."""


class Measurement(Section):
    """Allowed loss ratios, and the precision of the search."""

    NDR: Percent = Field(default=0.001, ge=0, lt=100)
    """Loss ratio allowed at the no drop rate, in percent; 0 up to, not including, 100."""
    PDR: Percent = Field(default=0.1, ge=0, lt=100)
    """Loss ratio allowed at the partial drop rate, in percent; 0 up to, not including, 100."""
    load_epsilon: Percent = Field(default=0.1, gt=0, lt=100)
    """Width of the final bounds, in percent of the line rate; above 0, below 100."""


class FluentdServer(Section):
    """A Fluentd server; further keys are nodrop's, of `ship.fluentd`."""

    model_config = ConfigDict(extra="allow")

    logging_tag: str | None = None
    """Tag of log records; null: none are sent."""
    result_tag: str | None = None
    """Tag of result records; null: none are sent."""
    ip: str = "127.0.0.1"
    """Address of the server."""
    port: int = Field(default=24224, ge=1, le=65535)
    """TCP port; 1 to 65535."""


OneOrMoreAggregators = BeforeValidator(
    lambda value: wrap_list(value) or (), json_schema_input_type=list[FluentdServer] | FluentdServer | None
)
"""A single server needs no list around it; null is none."""


class NfvbenchConfig(Section):
    """NFVbench's configuration, with its defaults for keys that are not set."""

    openrc_file: str | None = None
    """File with OpenStack credentials; null or empty: no OpenStack."""
    clouds_detail: str | None = None
    """Name of a cloud in clouds.yaml, in place of openrc_file."""
    vm_forwarder: Literal["testpmd", "vpp"] = "testpmd"
    """Forwarder of a loopback VNF: `testpmd` bridges two ports, `vpp` routes."""
    vm_image_file: str | None = None
    """Image file of loopback VMs."""
    flavor_type: str = "nfvbench.medium"
    """OpenStack flavor of loopback VMs."""
    flavor: Flavor = Flavor()
    """The flavor, if it is created."""
    vif_multiqueue_size: int = Field(default=1, ge=1, le=8)
    """Queues of each VM interface; 1 to 8."""
    num_mbufs: int = Field(default=16384, ge=1)
    """Packet buffers of a VPP forwarder; from 1."""
    availability_zone: str | None = None
    """OpenStack availability zone of the VMs."""
    compute_nodes: Names = None
    """Compute hosts of the VMs: `node`, `zone:` or `zone:node`."""
    hypervisor_hostname: str | None = None
    """Hypervisor of the VMs, for users without administrator rights."""
    service_chain: Chain = "PVP"
    """The path: `PVP`, one VNF in each chain; `PVVP`, two; `EXT`, external chains."""
    service_chain_count: int = Field(default=1, ge=1, le=128)
    """Parallel chains; 1 to 128."""
    service_chain_shared_net: bool = False
    """Use one network for all chains on each side."""
    flow_count: Count = Field(default=10000, ge=1)
    """Flows over all chains and directions, e.g. `100k`; from 1."""
    sriov: bool = False
    """Use SR-IOV ports for VMs."""
    l2_loopback: Loopback = Field(default=False, validate_default=True)
    """Connect the two ports to each other: `true`, `no-tag`, or VLANs, e.g. `100`, `100,101`, `100_200`."""
    no_cleanup: bool = False
    """Keep the staged resources after the run."""
    traffic_generator: TrafficGenerator = TrafficGenerator()
    """Addresses and ports of the traffic, and the available generators."""
    restart: bool = False
    """Restart TRex."""
    cores: int | None = Field(default=None, ge=1)
    """CPU cores of the generator; from 1. Null: the profile's."""
    intf_speed: Speed = None
    """Line rate, e.g. `10Gbps`; null or `auto`: as the interfaces report."""
    cores_used: int | None = None
    """Output: the cores used."""
    intf_speed_used: float | None = None
    """Output: the line rate used, in bits per second."""
    intf_speed_detected: float | None = None
    """Output: the interfaces' speed, in bits per second."""
    cache_size: int = Field(default=0, le=10000)
    """Frames that TRex generates in advance; up to 10000, below 0: the flow count."""
    i40e_mixed: Literal["ignore", "exit", "unbind", "check"] | None = None
    """What TRex does if the kernel uses i40e interfaces: `ignore`, `exit`, `unbind` or `check`."""
    mbuf_64: int | None = Field(default=None, ge=1)
    """Small packet buffers of TRex; from 1."""
    mbuf_factor: float = Field(default=0.2, gt=0)
    """Scale of TRex's packet buffers; above 0."""
    disable_hdrh: bool = False
    """Report no latency percentiles."""
    lat_percentiles: Annotated[
        tuple[Annotated[float, Field(ge=0, le=100)], ...], Field(min_length=1, max_length=100)
    ] = (25, 75, 99)
    """Latency percentiles to report; each 0 to 100."""
    check_traffic_time_sec: Seconds = Field(default=200, gt=0)
    """Time limit of the end-to-end check, in seconds; above 0."""
    generic_retry_count: int = Field(default=100, ge=1)
    """Retries; from 1."""
    generic_poll_sec: Seconds = Field(default=2, gt=0)
    """Time between retries, in seconds; above 0."""
    loop_vm_name: str = "nfvbench-loop-vm"
    """Name prefix of loopback VMs."""
    internal_networks: InternalNetworks = InternalNetworks()
    """Networks of the chains."""
    idle_interfaces_per_vm: int = Field(default=0, ge=0, le=8)
    """Interfaces of each VNF without traffic; 0 to 8."""
    idle_networks: OpenStackNetwork = OpenStackNetwork(
        name="nfvbench-idle-net", subnet="nfvbench-idle-subnet", cidr="192.169.1.0/24"
    )
    """Networks of those interfaces."""
    use_management_port: bool = False
    """Add a management interface to loopback VMs."""
    management_network: ManagementNetwork = ManagementNetwork(
        name="nfvbench-management-net", subnet="nfvbench-management-subnet", cidr="192.168.0.0/24"
    )
    """The network of that interface."""
    use_floating_ip: bool = False
    """Assign a floating IP address to that interface."""
    floating_network: OpenStackNetwork = OpenStackNetwork(
        name="nfvbench-floating-net", subnet="nfvbench-floating-subnet", cidr="192.168.0.0/24"
    )
    """The network of those addresses."""
    use_sriov_middle_net: bool = False
    """Connect the two VNFs of a chain by SR-IOV."""
    external_networks: ExternalNetworks = ExternalNetworks()
    """OpenStack networks of an `EXT` chain."""
    edge_networks: EdgeNetworks = EdgeNetworks()
    """Networks behind routers in the path."""
    vxlan: bool = False
    """Encapsulate frames in VXLAN."""
    mpls: bool = False
    """Encapsulate frames in MPLS with two labels."""
    vlan_tagging: bool = True
    """Send frames with a VLAN tag."""
    vlans: Vlans = None
    """VLANs left and right, one for each chain, e.g. `[[100, 101], [200, 201]]`; 1 to 4094. Null or `[]`: none."""
    no_arp: bool = False
    """Do not resolve MAC addresses."""
    loop_vm_arp: bool = False
    """Resolve MAC addresses if a VNF routes."""
    traffic_profile: tuple[TrafficProfile, ...] = (
        TrafficProfile(name="traffic_profile_64B", l2frame_size=("64",)),
        TrafficProfile(name="traffic_profile_IMIX", l2frame_size=("IMIX",)),
        TrafficProfile(name="traffic_profile_1518B", l2frame_size=("1518",)),
        TrafficProfile(name="traffic_profile_3sizes", l2frame_size=("64", "IMIX", "1518")),
    )
    """Named lists of frame sizes."""
    traffic: TrafficChoice = TrafficChoice()
    """The traffic profile and its directions."""
    no_traffic: bool = False
    """Set up and check the path, without a measurement."""
    l3_router: bool = False
    """Use routers between tester and VNF."""
    periodic_gratuitous_arp: bool = False
    """Announce the tester's addresses during trials."""
    gratuitous_arp_pps: float = Field(default=1, gt=0, le=1000)
    """Announcements per second; above 0, up to 1000."""
    unidir_reverse_traffic_pps: int = Field(default=1, ge=0)
    """Frames per second in the reverse direction of unidirectional traffic; from 0."""
    rate: Rate = "ndr_pdr"
    """What to measure: `ndr`, `pdr`, `ndr_pdr`, or a fixed rate, e.g. `10kpps`, `2.5Gbps` or `50%`."""
    duration_sec: Seconds = Field(default=60, gt=0)
    """Duration of a trial, in seconds; above 0."""
    interval_sec: Seconds = Field(default=10, ge=0)
    """Interval of progress reports of a fixed-rate run, in seconds; 0: none."""
    pause_sec: Seconds = Field(default=2, ge=0)
    """Pause after each trial of a search, in seconds; from 0."""
    measurement: Measurement = Measurement()
    """Goals and precision."""
    json_file: str | None = Field(default=None, alias="json")
    """File to which the result is also written."""
    std_json: str | None = None
    """Directory to which the result is also written, in a file named after the measurement."""
    debug: bool = False
    """Log debug messages."""
    log_file: str | None = None
    """Log file."""
    user_id: int | None = Field(default=None, ge=0)
    """User ID of the owner of written files; from 0."""
    group_id: int | None = Field(default=None, ge=0)
    """Group ID of written files; from 0."""
    fluentd: Annotated[tuple[FluentdServer, ...], OneOrMoreAggregators] = (FluentdServer(),)
    """Fluentd servers that records are sent to."""
    factory_module: str = "nfvbench.factory"
    """Python module of a plugin for NFVbench."""
    factory_class: str = "BasicFactory"
    """Class in that module."""
    user_label: Text | None = None
    """Label of the result."""
    user_info: Any = None
    """Any data to store with the result; `extra_encapsulation_bytes` is the number of header bytes added to each
    frame."""
    no_vswitch_access: bool = False
    """Do not read the virtual switch in plugins."""
    service_mode: bool = False
    """Keep TRex in service mode, so that packets can be captured."""
    no_flow_stats: bool = False
    """Do not count flows in TRex."""
    no_latency_stats: bool = False
    """Do not report latency."""
    no_latency_streams: bool = False
    """Send no latency streams."""
    no_e2e_check: bool = False
    """Skip the path check before the traffic."""
    debug_mask: int = 0
    """Unused."""

    def lists_frame_sizes(self, names: Sequence[str]) -> bool:
        """Return whether the chosen traffic profile lists exactly these frame sizes."""
        chosen = (each.frame_sizes for each in self.traffic_profile if each.name == self.traffic.profile)
        return any([*map(str, sizes)] == [*names] for sizes in chosen)
