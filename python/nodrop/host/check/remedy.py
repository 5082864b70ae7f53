"""Commands and settings that mend things, right for the machine they are for."""

from typing import NamedTuple

from nodrop.host.check.rule import Remedy
from nodrop.model.chd import HostDescriptor

GRUBBY = ("Red Hat", "Fedora", "CentOS", "Rocky", "AlmaLinux", "Oracle", "Amazon")
SUSE = ("SUSE", "openSUSE")
DEBIAN = ("Debian", "Ubuntu", "Mint")
IOMMU_ON = {"Intel": "intel_iommu=on iommu=pt", "AMD": "iommu=pt", "Hygon": "iommu=pt"}
"""Kernel arguments that switch it on for VMs and leave the host's own devices untranslated."""


class BiosNames(NamedTuple):
    """What a setting is called in set-up programs of makers of servers."""

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
"""As their manuals call them; the path differs between generations."""


def describe_bios_setting(host: HostDescriptor, setting: str, on: bool = True) -> str:
    """Which BIOS setting to change, in the words of the maker of the machine; of all makers where that is not known."""
    vendor = host.capabilities.processor.vendor.value or ""
    names = BIOS.get((setting, vendor)) or BIOS.get((setting, ""))
    if is_guest(host):
        return f"whoever runs this guest ({host.host.virtualization.value}) has to provide it"
    if names is None:
        return "a processor or board that has it"
    maker = f"{host.host.product.value or ''} {host.host.bios.value or ''}".lower()
    keys = {"dell": names.dell, "hpe": names.hpe, "lenovo": names.lenovo, "supermicro": names.supermicro}
    aliases = {"hewlett": "hpe", "proliant": "hpe"}
    for alias, key in (*aliases.items(), *((each, each) for each in keys)):
        if alias in maker:
            return f"BIOS: {keys[key]}: {'Enabled' if on else 'Disabled'}"
    told = "; ".join(f"{each.capitalize() if each != 'hpe' else 'HPE'} {name}" for each, name in keys.items())
    return f"BIOS, {'enable' if on else 'disable'}: {told}"


def is_guest(host: HostDescriptor) -> bool:
    """Whether the machine is known to run under a hypervisor itself."""
    return (host.host.virtualization.value or "none") != "none"


def describe_missing_hardware(host: HostDescriptor, what: str) -> str:
    """What to do where a processor lacks something that no setting brings."""
    if is_guest(host):
        return (
            f"whoever runs this guest ({host.host.virtualization.value}) has to give it {what}, "
            "in libvirt by <cpu mode='host-passthrough'/>"
        )
    return f"no setting brings it: a processor with {what}"


def add_kernel_arguments(host: HostDescriptor, arguments: str) -> str:
    """The command that adds arguments to the kernel's command line, for this distribution; a reboot follows."""
    name = host.host.os.value or ""
    if _is_of_family(name, GRUBBY):
        return f'grubby --update-kernel=ALL --args="{arguments}"'
    edit = f"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{arguments} /' /etc/default/grub"
    if _is_of_family(name, SUSE):
        return f"{edit} && grub2-mkconfig -o /boot/grub2/grub.cfg"
    return f"{edit} && {'update-grub' if _is_of_family(name, DEBIAN) else 'grub-mkconfig -o /boot/grub/grub.cfg'}"


def enable_module_parameter(module: str, parameter: str, lacking: str) -> Remedy:
    """How to switch on what a module of the kernel leaves off."""
    return Remedy(
        fix=f"echo 'options {module} {parameter}=1' > /etc/modprobe.d/{module}-{parameter}.conf"
        f" && modprobe -r {module} && modprobe {module}",
        by_hand=f"while no VM runs; if the processor lacks it: {lacking}",
        verify=f"cat /sys/module/{module}/parameters/{parameter}",
    )


def install_package(host: HostDescriptor, debian: str, dnf: str) -> str:
    """The command that installs a package, for this distribution."""
    name = host.host.os.value or ""
    if _is_of_family(name, GRUBBY):
        return f"dnf install -y {dnf}"
    return f"zypper install -y {dnf}" if _is_of_family(name, SUSE) else f"apt-get install -y {debian}"


def _is_of_family(name: str, families: tuple[str, ...]) -> bool:
    return any(family.lower() in name.lower() for family in families)
