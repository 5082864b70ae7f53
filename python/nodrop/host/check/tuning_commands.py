"""Commands that tune a host for a data plane: the remedies of A1 to A12."""

from collections.abc import Iterator

from nodrop.host.check.remedy import add_kernel_arguments, describe_bios_setting, install_package
from nodrop.host.check.rule import Remedy, get_setting
from nodrop.model.chd import HostDescriptor, Nic, NumaNode
from nodrop.system.cpu_sets import format_cpu_list

NOISY_SERVICES = frozenset(
    {
        "apt-daily",
        "avahi-daemon",
        "bluetooth",
        "cups",
        "fwupd",
        "ModemManager",
        "packagekit",
        "snapd",
        "tracker-miner-fs",
        "unattended-upgrades",
        "updatedb",
    }
)
"""Services that a VM host does not need and that wake up periodically."""


def advise_isolated_cpus(host: HostDescriptor) -> str:
    """Return the CPUs to isolate if none are: all but the first core of every node, as a kernel CPU list."""
    housekeeping = {cpu for node in host.resources.numa_nodes for cpu in _list_first_core(node)}
    return format_cpu_list(
        cpu for node in host.resources.numa_nodes for cpu in node.cpus.ids if cpu not in housekeeping
    )


def _list_first_core(node: NumaNode) -> tuple[int, ...]:
    return min(node.cpus.sibling_sets, default=())


def list_nics(host: HostDescriptor) -> Iterator[Nic]:
    """Yield every network card."""
    for node in host.resources.numa_nodes:
        yield from node.nics
    yield from host.resources.unplaced_nics


def list_noisy_services(host: HostDescriptor) -> list[str]:
    """List the running services known to wake up periodically."""
    running = (get_setting(host, "services").value or "").replace(",", " ").split()
    return sorted(NOISY_SERVICES & {name.removesuffix(".service") for name in running})


def use_polling_driver(host: HostDescriptor) -> Remedy:
    """Bind a card to a polling driver."""
    free = [
        port.pci_id for nic in list_nics(host) for port in nic.ports if port.in_use.value is False and not port.vswitch
    ]
    tool = install_package(host, "driverctl", "driverctl")
    return Remedy(
        fix=f"{tool} && driverctl set-override {free[0]} vfio-pci" if free else "",
        by_hand="use a dedicated card for a DPDK program, a polling virtual switch or a VM; "
        "never the one this host is managed through",
        verify="lspci -nnk -d ::0200",
    )


def isolate_cpus(host: HostDescriptor) -> Remedy:
    """Isolate all but the first core of every node."""
    cpus = advise_isolated_cpus(host)
    if not cpus:
        return Remedy(by_hand="use a machine with more cores: this one has none to spare besides the system's own")
    arguments = f"isolcpus=managed_irq,domain,{cpus} nohz_full={cpus} rcu_nocbs={cpus}"
    return Remedy(
        fix=add_kernel_arguments(host, arguments),
        by_hand="reboot; the first core of every node remains for the system",
        verify="cat /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full",
    )


def steer_interrupts(host: HostDescriptor) -> Remedy:
    """Send interrupts to the first cores."""
    first = format_cpu_list(cpu for node in host.resources.numa_nodes for cpu in _list_first_core(node)) or "0"
    return Remedy(
        fix='for irq in /sys/class/net/*/device/msi_irqs/* /sys/class/net/*/device/../msi_irqs/*; do [ -e "$irq" ] && '
        f'echo {first} > "/proc/irq/${{irq##*/}}/smp_affinity_list"; done',
        by_hand=f"to make it persistent: kernel argument irqaffinity={first}; also isolate the other CPUs (A2)",
        verify="grep . /proc/irq/*/effective_affinity_list",
    )


def disable_irqbalance(_: HostDescriptor) -> Remedy:
    """Stop the redistribution of interrupts."""
    return Remedy("systemctl disable --now irqbalance", "", "systemctl is-active irqbalance")


def stop_background_work(host: HostDescriptor) -> Remedy:
    """Stop services that wake up periodically."""
    restless = list_noisy_services(host)
    return Remedy(
        fix=f"systemctl disable --now {' '.join(restless)}" if restless else "",
        by_hand="filter packets on the management interface only: each rule delays every packet of the data plane",
        verify="systemctl list-units --type=service --state=running; nft list ruleset",
    )


def disable_turbo(host: HostDescriptor) -> Remedy:
    """Fix the clock rate."""
    is_intel = host.capabilities.processor.vendor.value == "Intel"
    switch = "/sys/devices/system/cpu/intel_pstate/no_turbo" if is_intel else "/sys/devices/system/cpu/cpufreq/boost"
    return Remedy(
        fix=f"echo {int(is_intel)} > {switch}",
        by_hand=f"or {describe_bios_setting(host, 'turbo', on=False)}; or leave it on and expect rates that vary with "
        "temperature and with the load of other cores",
        verify=f"cat {switch}",
    )


def move_cards(_: HostDescriptor) -> Remedy:
    """Put the card and its cores on the same node."""
    return Remedy(
        by_hand="move the card to a slot of the socket whose cores serve it, or allow VMs to use CPUs of its node",
        verify="grep . /sys/class/net/*/device/numa_node",
    )


def add_queues(host: HostDescriptor) -> Remedy:
    """Configure one queue per CPU."""
    queues = get_setting(host, "nic_queues").value or ""
    single = [part.rpartition("=")[0] for part in queues.split() if part.endswith("=1")]
    count = max(2, *(len(node.cpus.ids) for node in host.resources.numa_nodes), 0)
    return Remedy(
        fix="; ".join(f"ethtool -L {name} combined {count}" for name in single),
        by_hand="for a virtual card, configure more queues in the hypervisor" if single else "",
        verify="; ".join(f"ethtool -l {name}" for name in single) or "ls /sys/class/net/*/queues",
    )


def raise_limits(_: HostDescriptor) -> Remedy:
    """Let processes pin memory."""
    return Remedy(
        fix="echo '* - memlock unlimited' > /etc/security/limits.d/90-memlock.conf && "
        "sysctl -w vm.max_map_count=262144",
        by_hand="log in again; for a service set LimitMEMLOCK=infinity in its unit; libvirt raises it for VMs",
        verify="ulimit -l; sysctl vm.max_map_count",
    )


def reserve_large_pages(host: HostDescriptor) -> Remedy:
    """Reserve large pages on every node."""
    nodes = host.resources.numa_nodes
    place = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages"
    has_large = any(pages.size_bytes == 2**30 for node in nodes for pages in node.memory.large_pages)
    kib, count = (2**20, 4) if has_large else (2**11, 1024)
    return Remedy(
        fix=" && ".join(f"echo {count} > {place.format(node.id, kib)}" for node in nodes),
        by_hand="enough for the node's VMs; pages of 1 GiB are best reserved at boot: default_hugepagesz=1G "
        f"hugepagesz=1G hugepages={count * len(nodes)}",
        verify="grep . /sys/devices/system/node/node*/hugepages/*/nr_hugepages",
    )


def create_vfs(host: HostDescriptor) -> Remedy:
    """Create virtual functions."""
    able = [port.pci_id for nic in list_nics(host) for port in nic.ports if port.sriov and port.sriov.total_count.value]
    return Remedy(
        fix=f"echo 4 > /sys/bus/pci/devices/{able[0]}/sriov_numvfs" if able else "",
        by_hand=describe_bios_setting(host, "sriov")
        if able
        else f"use a card that supports SR-IOV, and {describe_bios_setting(host, 'sriov')}",
        verify="grep . /sys/bus/pci/devices/*/sriov_numvfs",
    )


def build_empty_remedy(_: HostDescriptor) -> Remedy:
    """Return no remedy."""
    return Remedy()
