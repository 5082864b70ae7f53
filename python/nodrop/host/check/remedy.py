"""Commands and BIOS settings for remedies, specific to the host."""

from typing import NamedTuple

from nodrop.host.check.rule import Remedy
from nodrop.model.chd import HostDescriptor

GRUBBY = ("Red Hat", "Fedora", "CentOS", "Rocky", "AlmaLinux", "Oracle", "Amazon")
SUSE = ("SUSE", "openSUSE")
DEBIAN = ("Debian", "Ubuntu", "Mint")
IOMMU_ON = {"Intel": "intel_iommu=on iommu=pt", "AMD": "iommu=pt", "Hygon": "iommu=pt"}
"""Kernel arguments that enable it for VMs without translation of the host's own devices."""


class BiosNames(NamedTuple):
    """Names of a setting in the setup utilities of server vendors."""

    dell: str
    hpe: str
    lenovo: str
    supermicro: str


BIOS: dict[tuple[str, str], BiosNames] = {
    ("virtualization", "Intel"): BiosNames(
        "Processor Settings > Virtualization Technology",
        "Virtualization Options > Intel(R) Virtualization Technology (Intel VT)",
        "Processors > Intel Virtualization Technology",
        "CPU Configuration > Intel Virtualization Technology",
    ),
    ("virtualization", "AMD"): BiosNames(
        "Processor Settings > Virtualization Technology",
        "Virtualization Options > AMD Virtualization Technology",
        "Processors > SVM Mode",
        "CPU Configuration > SVM Mode",
    ),
    ("iommu", "Intel"): BiosNames(
        "Processor Settings > Virtualization Technology",
        "Virtualization Options > Intel(R) VT-d",
        "Devices and I/O Ports > Intel VT for Directed I/O (VT-d)",
        "Chipset Configuration > North Bridge > Intel VT for Directed I/O (VT-d)",
    ),
    ("iommu", "AMD"): BiosNames(
        "Processor Settings > IOMMU Support",
        "Virtualization Options > AMD I/O Virtualization Technology",
        "Devices and I/O Ports > IOMMU",
        "NB Configuration > IOMMU",
    ),
    ("sriov", ""): BiosNames(
        "Integrated Devices > SR-IOV Global Enable",
        "Virtualization Options > SR-IOV",
        "Devices and I/O Ports > SRIOV",
        "PCIe/PCI/PnP Configuration > SR-IOV Support",
    ),
    ("smt", "Intel"): BiosNames(
        "Processor Settings > Logical Processor",
        "Processor Options > Intel(R) Hyper-Threading",
        "Processors > Hyper-Threading",
        "CPU Configuration > Hyper-Threading [ALL]",
    ),
    ("smt", "AMD"): BiosNames(
        "Processor Settings > Logical Processor",
        "Processor Options > AMD SMT Option",
        "Processors > SMT Mode",
        "CPU Configuration > SMT Control",
    ),
    ("turbo", "Intel"): BiosNames(
        "System Profile Settings > Turbo Boost",
        "Power and Performance Options > Intel(R) Turbo Boost Technology",
        "Processors > Turbo Mode",
        "Advanced Power Management Configuration > Turbo Mode",
    ),
    ("turbo", "AMD"): BiosNames(
        "System Profile Settings > Turbo Boost",
        "Power and Performance Options > AMD Core Performance Boost",
        "Processors > Core Performance Boost",
        "CPU Configuration > Core Performance Boost",
    ),
}
"""As in the vendors' manuals; menu paths differ between generations."""


def describe_bios_setting(host: HostDescriptor, setting: str, on: bool = True) -> str:
    """Describe the BIOS setting in the terms of the server's vendor, or of all vendors if unknown."""
    vendor = host.capabilities.processor.vendor.value or ""
    names = BIOS.get((setting, vendor)) or BIOS.get((setting, ""))
    if is_guest(host):
        return f"the operator of this guest's hypervisor ({host.host.virtualization.value}) has to provide it"
    if names is None:
        return "use a processor or board that supports it"
    maker = f"{host.host.product.value or ''} {host.host.bios.value or ''}".lower()
    keys = {"dell": names.dell, "hpe": names.hpe, "lenovo": names.lenovo, "supermicro": names.supermicro}
    aliases = {"hewlett": "hpe", "proliant": "hpe"}
    for alias, key in (*aliases.items(), *((each, each) for each in keys)):
        if alias in maker:
            return f"BIOS: {keys[key]}: {'Enabled' if on else 'Disabled'}"
    reported = "; ".join(f"{each.capitalize() if each != 'hpe' else 'HPE'} {name}" for each, name in keys.items())
    return f"BIOS, {'enable' if on else 'disable'}: {reported}"


def is_guest(host: HostDescriptor) -> bool:
    """Return whether the machine is known to be a guest."""
    return (host.host.virtualization.value or "none") != "none"


def describe_missing_hardware(host: HostDescriptor, hardware: str) -> str:
    """Describe missing hardware that no setting can provide."""
    if is_guest(host):
        return (
            f"the operator of this guest's hypervisor ({host.host.virtualization.value}) has to provide {hardware}, "
            "in libvirt with <cpu mode='host-passthrough'/>"
        )
    return f"no setting provides it; use a processor with {hardware}"


def add_kernel_arguments(host: HostDescriptor, arguments: str) -> str:
    """Return the command that adds kernel arguments on this distribution; takes effect after a reboot."""
    name = host.host.os.value or ""
    if _is_of_family(name, GRUBBY):
        return f'grubby --update-kernel=ALL --args="{arguments}"'
    edit = f"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{arguments} /' /etc/default/grub"
    if _is_of_family(name, SUSE):
        return f"{edit} && grub2-mkconfig -o /boot/grub2/grub.cfg"
    return f"{edit} && {'update-grub' if _is_of_family(name, DEBIAN) else 'grub-mkconfig -o /boot/grub/grub.cfg'}"


def enable_module_parameter(module: str, parameter: str, lacking: str) -> Remedy:
    """Return how to enable a module parameter."""
    return Remedy(
        fix=f"echo 'options {module} {parameter}=1' > /etc/modprobe.d/{module}-{parameter}.conf"
        f" && modprobe -r {module} && modprobe {module}",
        by_hand=f"run it while no VM is running; if the processor lacks the feature: {lacking}",
        verify=f"cat /sys/module/{module}/parameters/{parameter}",
    )


def install_package(host: HostDescriptor, debian: str, dnf: str) -> str:
    """Return the command that installs a package on this distribution."""
    name = host.host.os.value or ""
    if _is_of_family(name, GRUBBY):
        return f"dnf install -y {dnf}"
    return f"zypper install -y {dnf}" if _is_of_family(name, SUSE) else f"apt-get install -y {debian}"


def _is_of_family(name: str, families: tuple[str, ...]) -> bool:
    return any(family.lower() in name.lower() for family in families)
