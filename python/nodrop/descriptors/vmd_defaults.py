"""Expansion of shorthands in VM descriptors: single profile, cloud VMs without sets, ranges of vCPUs.

Source: ETSI GS NFV-PER 001 figure 8, left: a cloud VM has a number of vCPUs and memory, but no topology.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodrop.descriptors.messages import Complaint
from nodrop.model.vmd import Profile, SetMemory, VmDescriptor
from nodrop.system.yaml_reader import Key, ParsedFile, preview_value

VCPUS_MAX = 4096
"""More than any hypervisor supports."""
MODES = {"fully-dedicated": "dedicated", "shared-sriov": "sriov", "shared-vswitch": "vswitch"}
CAPABILITY_SETS = {
    "hw_virtualization": ("slat", "slat_large_pages"),
    "hw_io_virtualization": ("iommu_slat", "iommu_slat_large_pages", "interrupt_remapping"),
}
"""The two main sets of clause 8.2.2.3."""
MEMORY = {"memory_bytes": "total_bytes", **{key: key for key in SetMemory.model_fields if key != "total_bytes"}}
CLOUD = ("vcpu_count", *MEMORY, "interfaces")
"""Keys of a profile instead of `vcpu_sets`, for one set."""
PROFILE = (*Profile.model_fields, *CLOUD)
_RANGE = re.compile(r"(\d{1,5})(?:\s*-\s*(\d{1,5}))?")


def apply_defaults(document: ParsedFile, complaints: list[Complaint]) -> ParsedFile:
    """Return the expanded descriptor with the original lines."""
    lines = dict(document.lines)
    content = dict(document.content)
    if "profiles" not in content:
        inner = {key: content.pop(key) for key in list(content) if key in PROFILE and key != "name"}
        content["profiles"] = [inner]
        lines |= {("profiles", "0", *key): line for key, line in document.lines.items() if key[0] in inner}
    elif misplaced := [key for key in content if key not in VmDescriptor.model_fields and key in PROFILE]:
        complaints += [Complaint((key,), "not allowed next to profiles; write it in each profile") for key in misplaced]
        content = {key: value for key, value in content.items() if key not in misplaced}
    if isinstance(content["profiles"], list):
        content["profiles"] = [
            _expand_profile(each, ("profiles", str(index)), lines, complaints) if isinstance(each, dict) else each
            for index, each in enumerate(content["profiles"])
        ]
    return ParsedFile(document.name, content, lines)


def _expand_profile(
    document: Mapping[str, Any], key: Key, lines: dict[Key, int], complaints: list[Complaint]
) -> dict[str, Any]:
    profile = dict(document)
    cloud = [each for each in CLOUD if each in profile]
    if cloud and "vcpu_sets" in profile:
        complaints.append(Complaint((*key, cloud[0]), "not allowed next to vcpu_sets; write it in a set, or no sets"))
    elif cloud:
        profile = _expand_cloud_vm(profile, key, lines, complaints)
    if isinstance(profile.get("vcpu_sets"), list):
        profile["vcpu_sets"] = [
            _expand_set(each, (*key, "vcpu_sets", str(index)), complaints) if isinstance(each, dict) else each
            for index, each in enumerate(profile["vcpu_sets"])
        ]
    hypervisor = profile.get("hypervisor")
    if isinstance(hypervisor, dict) and isinstance(hypervisor.get("capabilities"), list):
        profile["hypervisor"] = hypervisor | {"capabilities": list(_expand_capabilities(hypervisor["capabilities"]))}
    return profile


def _expand_cloud_vm(
    profile: dict[str, Any], key: Key, lines: dict[Key, int], complaints: list[Complaint]
) -> dict[str, Any]:
    """Return a profile with one set, which may be split over nodes unless `topology` is given."""
    one = (*key, "vcpu_sets", "0")
    lines.setdefault(one, lines.get(key, 1))
    for name, path in (
        *((name, (*one, "memory", inner)) for name, inner in MEMORY.items()),
        ("vcpu_count", (*one, "vcpus")),
        ("interfaces", (*one, "interfaces")),
    ):
        below = {
            path + each[len(key) + 1 :]: line for each, line in lines.items() if each[: len(key) + 1] == (*key, name)
        }
        lines |= below
    count = profile.get("vcpu_count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= VCPUS_MAX:
        complaints.append(
            Complaint(
                (*key, "vcpu_count"),
                f"{preview_value(count)} is not from 1 to {VCPUS_MAX}; write the number of vCPUs",
            )
        )
        count = 1
    memory = {inner: profile[name] for name, inner in MEMORY.items() if name in profile}
    only = {"vcpus": list(range(count)), "memory": memory, "interfaces": profile.get("interfaces", [])}
    rest = {name: value for name, value in profile.items() if name not in CLOUD}
    return {"topology": "unrestricted"} | rest | {"vcpu_sets": [only]}


def _expand_set(document: Mapping[str, Any], key: Key, complaints: list[Complaint]) -> dict[str, Any]:
    expanded = dict(document)
    if isinstance(expanded.get("vcpus"), (str, int)) and not isinstance(expanded["vcpus"], bool):
        expanded["vcpus"] = _parse_vcpus(str(expanded["vcpus"]), (*key, "vcpus"), complaints)
    if isinstance(expanded.get("interfaces"), list):
        expanded["interfaces"] = [
            _expand_interface(each) if isinstance(each, dict) else each for each in expanded["interfaces"]
        ]
    return expanded


def _parse_vcpus(text: str, key: Key, complaints: list[Complaint]) -> list[int]:
    """Parse `0-3,6`."""
    vcpus: list[int] = []
    for part in text.split(","):
        matched = _RANGE.fullmatch(part.strip())
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
        if first > last or last >= VCPUS_MAX:
            expected = f"a range of vCPU numbers below {VCPUS_MAX}"
            complaints.append(Complaint(key, f"{preview_value(part.strip())} is not {expected}; write e.g. 0-3,6"))
            return [0]
        vcpus += range(first, last + 1)
    return vcpus


def _expand_interface(document: Mapping[str, Any]) -> dict[str, Any]:
    mode = document.get("mode")
    return dict(document) | ({"mode": MODES[mode]} if isinstance(mode, str) and mode in MODES else {})


def _expand_capabilities(entries: list[Any]) -> Iterator[Any]:
    seen: set[str] = set()
    for each in entries:
        for name in CAPABILITY_SETS.get(each, (each,)) if isinstance(each, str) else (each,):
            if str(name) not in seen:
                seen.add(str(name))
                yield name
