"""CPUs that VMs may use according to the host's configuration. ETSI GS NFV-PER 001 clause 8.1.1.4, eligible CPUs.

The first configured source decides for all CPUs: the operator's list, Nova's dedicated and shared sets, the kubelet's
static CPU manager, libvirt's slice, isolated cgroup partitions, CPUs isolated at boot. If all sources are readable and
none is configured, all CPUs are eligible; if one is not readable, eligibility is unknown.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.observation import Confidence, Observation
from nodrop.system.cpu_sets import format_cpu_list, parse_cpu_list

NOVA = ("/etc/nova/nova.conf", "/etc/nova/nova-compute.conf", "/etc/kolla/nova-compute/nova.conf")
KUBELET = "/var/lib/kubelet/config.yaml"
KUBELET_STATE = "/var/lib/kubelet/cpu_manager_state"
SLICE = "/sys/fs/cgroup/machine.slice/cpuset.cpus"
CGROUPS = "/sys/fs/cgroup"
ISOLATED = "/sys/devices/system/cpu/isolated"
_NOVA_LINE = re.compile(
    rb"^[ \t]*(?:\[[^\]\n]*\]|(?:cpu_dedicated_set|cpu_shared_set|vcpu_pin_set|cpu_allocation_ratio)[ \t]*=)[^\n]*$",
    re.MULTILINE,
)


class VmCpuPolicy(NamedTuple):
    """CPUs that VMs may use, and the source of this policy or why it is unknown."""

    cpus: frozenset[int] | None
    source: str
    confidence: Confidence
    why: str = ""
    dedicated: frozenset[int] | None = None
    """CPUs that a VM uses exclusively, if the policy distinguishes them."""
    oversubscription_ratio: float | None = None
    """Virtual CPUs on each of the others."""

    def observe_eligibility(self, source: Source, cpu: int) -> Observation[bool]:
        """Return whether VMs may use a CPU."""
        if self.cpus is None:
            return source.moment.unknown(self.why, self.source)
        return source.moment.seen(cpu in self.cpus, self.source, self.confidence, self.why)

    def observe_ratio(self, source: Source, cpu: int) -> Observation[float]:
        """Return how many virtual CPUs may share a CPU."""
        if self.cpus is None or cpu not in self.cpus:
            return source.moment.unknown("no VM may have it" if self.cpus is not None else self.why, self.source)
        if self.dedicated is not None and cpu in self.dedicated:
            return source.moment.inferred(1.0, self.source, "dedicated: one virtual CPU each")
        if self.oversubscription_ratio is None:
            return source.moment.unknown("no ratio is configured", self.source)
        return source.moment.reported(self.oversubscription_ratio, self.source)


def find_policy(source: Source, declared: Sequence[int] | None, online: Sequence[int]) -> VmCpuPolicy:
    """Find the policy of a host.

    Args:
        declared: the operator's list; None: no list.
        online: all CPUs that are online.
    """
    if declared is not None:
        return VmCpuPolicy(frozenset(declared) & frozenset(online), "user", "declared")
    tree = source.tree
    every: tuple[Callable[[FileTree, Sequence[int]], VmCpuPolicy | None], ...] = (
        _find_nova_policy,
        _find_kubelet_policy,
        _find_slice_policy,
        _find_partition_policy,
        _find_boot_policy,
    )
    for look in every:
        if policy := look(tree, online):
            return policy
    hidden = [
        f"{path}: {reason}" for path in (*NOVA, KUBELET, ISOLATED) if _is_hidden(reason := tree.failure_reason(path))
    ]
    if hidden:
        return VmCpuPolicy(None, "", "unknown", "no policy found, but not all was to be seen: " + "; ".join(hidden[:3]))
    return VmCpuPolicy(frozenset(online), ISOLATED, "inferred", "no policy found: nothing keeps VMs off any CPU")


def _find_nova_policy(tree: FileTree, online: Sequence[int]) -> VmCpuPolicy | None:
    """Read Nova's CPU sets. Source: OpenStack Nova, configuration reference, group compute."""
    for path in NOVA:
        settings = _read_nova_settings(tree, path)
        sets = {
            key: _parse_nova_set(settings.get(key)) for key in ("cpu_dedicated_set", "cpu_shared_set", "vcpu_pin_set")
        }
        if not any(cpu_set is not None for cpu_set in sets.values()):
            continue
        dedicated = sets["cpu_dedicated_set"]
        allowed = frozenset().union(*(cpu_set or () for cpu_set in sets.values())) & frozenset(online)
        return VmCpuPolicy(
            allowed,
            f"{path} " + ", ".join(key for key, cpu_set in sets.items() if cpu_set is not None),
            "reported",
            dedicated=None if dedicated is None else frozenset(dedicated),
            oversubscription_ratio=_parse_ratio(settings.get("cpu_allocation_ratio")),
        )
    return None


def _read_nova_settings(tree: FileTree, path: str) -> dict[str, str]:
    """Read only the relevant lines of the file: others contain passwords."""
    text = tree.read_text(path, reduce=lambda content: b"\n".join(_NOVA_LINE.findall(content))) or ""
    return {
        key.strip(): value.strip() for key, sign, value in (line.partition("=") for line in text.splitlines()) if sign
    }


def _parse_nova_set(text: str | None) -> frozenset[int] | None:
    """Parse the CPUs of `4-12,^8,15`."""
    if not text:
        return None
    parts = [part.strip() for part in text.split(",")]
    included = parse_cpu_list(",".join(part for part in parts if not part.startswith("^")))
    excluded = parse_cpu_list(",".join(part[1:] for part in parts if part.startswith("^")))
    return None if included is None or excluded is None else frozenset(included) - frozenset(excluded)


def _parse_ratio(text: str | None) -> float | None:
    """Parse a ratio above 0; Nova's 0.0 means not set."""
    try:
        ratio = float(text or "")
    except ValueError:
        return None
    return ratio if 0 < ratio < 1e6 else None


def _find_kubelet_policy(tree: FileTree, online: Sequence[int]) -> VmCpuPolicy | None:
    """Return the policy of the static CPU manager, which gives pods exclusive CPUs except the reserved ones.

    Source: Kubernetes, KubeletConfiguration v1beta1: cpuManagerPolicy, reservedSystemCPUs.
    """
    settings = _read_kubelet_settings(tree)
    if settings.get("cpuManagerPolicy") != "static":
        return None
    reserved = parse_cpu_list(str(settings.get("reservedSystemCPUs") or ""))
    allowed = frozenset(online) - frozenset(reserved or ())
    reason = f"all but {format_cpu_list(reserved)}, reserved for the system" if reserved else "none reserved by number"
    return VmCpuPolicy(allowed, f"{KUBELET} cpuManagerPolicy: static", "reported", reason)


def _read_kubelet_settings(tree: FileTree) -> dict[str, Any]:
    settings_line = re.compile(rb"^(?:cpuManagerPolicy|reservedSystemCPUs):[^\n]*$", re.MULTILINE)
    text = tree.read_text(KUBELET, reduce=lambda content: b"\n".join(settings_line.findall(content))) or ""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    return document if isinstance(document, dict) else {}


def _find_slice_policy(tree: FileTree, online: Sequence[int]) -> VmCpuPolicy | None:
    """Return the CPUs that systemd allows libvirt's VMs, if restricted."""
    cpus = parse_cpu_list(tree.read_text(SLICE) or "")
    return VmCpuPolicy(frozenset(cpus) & frozenset(online), SLICE, "reported") if cpus else None


def _find_partition_policy(tree: FileTree, online: Sequence[int]) -> VmCpuPolicy | None:
    """Return the CPUs of isolated partitions. Source: Linux, admin-guide/cgroup-v2.rst, cpuset.cpus.partition."""
    cpus, names = set[int](), list[str]()
    for group in _list_groups(tree):
        state = tree.read_text(f"{group}/cpuset.cpus.partition")
        if state == "isolated":
            cpus.update(parse_cpu_list(tree.read_text(f"{group}/cpuset.cpus.effective") or "") or ())
            names.append(f"{group}/cpuset.cpus.partition")
    return VmCpuPolicy(frozenset(cpus) & frozenset(online), ", ".join(names), "reported", "isolated") if cpus else None


def _list_groups(tree: FileTree) -> Iterator[str]:
    """Yield the groups of the first two levels, where hosts define partitions."""
    if not tree.exists(f"{CGROUPS}/cgroup.controllers"):
        return
    for name in tree.list_directory(CGROUPS):
        group = f"{CGROUPS}/{name}"
        if tree.exists(f"{group}/cpuset.cpus.partition"):
            yield group
            for below in tree.list_directory(group):
                if tree.exists(f"{group}/{below}/cpuset.cpus.partition"):
                    yield f"{group}/{below}"


def _find_boot_policy(tree: FileTree, online: Sequence[int]) -> VmCpuPolicy | None:
    cpus = parse_cpu_list(tree.read_text(ISOLATED) or "")
    if not cpus:
        return None
    return VmCpuPolicy(
        frozenset(cpus) & frozenset(online), ISOLATED, "inferred", "isolated from the scheduler: isolcpus"
    )


def read_kubelet_owners(tree: FileTree) -> dict[int, tuple[str, ...]]:
    """Return the pods with exclusive CPUs. Source: Kubernetes, cpu_manager_state checkpoint."""
    try:
        entries = json.loads(tree.read_text(KUBELET_STATE) or "{}").get("entries") or {}
        return _collect_owners((pod, name, cpus) for pod, each in entries.items() for name, cpus in each.items())
    except (ValueError, AttributeError, TypeError):
        return {}


def _collect_owners(assigned: Any) -> dict[int, tuple[str, ...]]:
    owners = dict[int, tuple[str, ...]]()
    for pod, container, cpus in assigned:
        for cpu in parse_cpu_list(str(cpus)) or ():
            owners[cpu] = (*owners.get(cpu, ()), f"pod {pod}/{container}")
    return owners


def _is_hidden(reason: str) -> bool:
    return reason not in ("", "no such file")
