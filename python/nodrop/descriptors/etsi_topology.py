"""The form of a VM's topology printed in ETSI GS NFV-PER 001 clause 8.2.2.4, which is neither YAML nor consistent.

    cpu-sets: 2
    cpu-set 0:
      cpus:
        number: 8
        howtogroup: [0,1] [2,3], [4,5], [6, 7]
      memory:
        total: 10GB
        hugepages size: 1GB
        hugepages number: 4
      interfaces:
        number: 1
        interface 0:
          speed: 10Gbps
          bandwidth: 5 Gbps
          shared-sriov
    ...
    cpu-set-bw:
      cpu-sets: 1,2
      bandwidth: 100Mbps

It becomes nodrop's own keys, with a remark on every slip and what was made of it; what is not clear is refused.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple, NoReturn

from nodrop.descriptors.indented_text import Branch, parse_indented
from nodrop.descriptors.messages import Remark
from nodrop.descriptors.vmd_defaults import MODES
from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import Key, ParsedFile, preview_value

CLAUSE = "clause 8.2.2.4 of ETSI GS NFV-PER 001"
_BEGIN = re.compile(r"^cpu[-_ ]sets?([-_ ]\d+)?\s*:", re.IGNORECASE | re.MULTILINE)
_GROUP = re.compile(r"\[([^\[\]]*)\]")
_NUMBERED = re.compile(r"([a-z-]+?)-(\d{1,4})")
LINKS, SET, INTERFACE = "cpu-set-bw", "cpu-set", "interface"
MEMORY = {
    "total": "total_bytes",
    "hugepages-size": "large_page_bytes",
    "hugepages-number": "large_page_count",
    "bandwidth": "bandwidth_bytes_per_s",
}
ENDS = {"speed": "speed_bps", "bandwidth": "bandwidth_bps"}


def is_printed_form(text: str) -> bool:
    """Return whether a text starts like the sample of the clause."""
    return _BEGIN.search(text) is not None


def parse_printed_form(text: str, name: str, remarks: list[Remark]) -> ParsedFile:
    """Convert the text to nodrop's keys, values still with units; append remarks.

    Raises: ConfigError naming the ambiguous line.
    """
    return _PrintedFormReader(name, remarks).document(text)


class _Link(NamedTuple):
    """Bandwidth between two sets, by their names in the text."""

    sets: tuple[int, int]
    bandwidth: str
    branch: Branch


class _PrintedFormReader:
    """Converts one text of that form."""

    def __init__(self, name: str, remarks: list[Remark]) -> None:
        self.name, self.remarks = name, remarks
        self.lines: dict[Key, int] = {}

    def document(self, text: str) -> ParsedFile:
        title = PurePath(self.name).stem if PurePath(self.name).suffix else "vm"
        self.remarks.append(Remark(f"the form printed in {CLAUSE} has no VM name; using {title!r}"))
        top = parse_indented(text, self.name)
        self._only(top, ("cpu-sets", LINKS, SET))
        set_branches = dict(self._numbered(top, SET))
        requested = self._number(self._one(top, "cpu-sets", None))
        if requested != len(set_branches):
            self._fail(self._one(top, "cpu-sets", None), f"does not match the {len(set_branches)} sets described")
        sets: list[dict[str, Any]] = []
        for index, branch in enumerate(set_branches.values()):
            first = sum(len(each["vcpus"]) for each in sets)
            sets.append(self._set(branch, ("profiles", "0", "vcpu_sets", str(index)), first))
        links = [self._link(each) for each in top if each.key == LINKS]
        profile: dict[str, Any] = {"vcpu_sets": sets}
        self.lines |= dict.fromkeys((("profiles",), ("profiles", "0"), ("profiles", "0", "vcpu_sets")), top[0].line)
        if links:
            profile["links"] = list(self._links(links, list(set_branches)))
        return ParsedFile(self.name, {"name": title, "profiles": [profile]}, self.lines)

    def _set(self, branch: Branch, key: Key, first: int) -> dict[str, Any]:
        self.lines[key] = branch.line
        self._only(branch.children, ("cpus", "memory", "interfaces"))
        cpus = self._one(branch.children, "cpus", branch)
        self.lines[*key, "vcpus"] = cpus.line
        content: dict[str, Any] = self._cpus(cpus, (*key, "pairs"), first)
        memory = self._one(branch.children, "memory", branch)
        content["memory"] = self._renamed(memory, MEMORY, (*key, "memory"))
        for each in memory.children:
            if re.fullmatch(r"[\d.]+\s*GB", each.value, re.IGNORECASE) and not self._mentions("GB"):
                self.remarks.append(Remark(f"{each.value} is read as GiB, 2^30 bytes, here and below", each.line))
        if interfaces := [each for each in branch.children if each.key == "interfaces"]:
            content["interfaces"] = self._interfaces(interfaces[0], (*key, "interfaces"))
        return content

    def _cpus(self, branch: Branch, key: Key, first: int) -> dict[str, Any]:
        """Return the vCPUs and their pairs."""
        self._only(branch.children, ("number", "howtogroup"))
        count = self._number(self._one(branch.children, "number", branch))
        grouping = [each for each in branch.children if each.key == "howtogroup"]
        groups = self._groups(grouping[0]) if grouping else []
        grouped = sorted(vcpu for group in groups for vcpu in group)
        where = grouping[0] if grouping else branch
        self.lines |= {key: where.line} | {(*key, str(index)): where.line for index in range(len(groups))}
        in_turn = list(range(first, first + min(count, 10**5)))
        if len(grouped) > count:
            self._fail(where, f"{count} vCPUs, but {len(grouped)} are grouped; correct the number")
        if len(grouped) < count:
            if not set(grouped) <= set(in_turn):
                self._fail(where, f"{count} vCPUs, but {len(grouped)} are grouped and the others are not named")
            rest = f"{in_turn[0]} to {in_turn[-1]}"
            self.remarks.append(
                Remark(f"vCPUs without a group are not named; assuming vCPUs {rest} for this set", where.line)
            )
            grouped = in_turn
        return {"vcpus": grouped, "pairs": groups}

    def _groups(self, branch: Branch) -> list[list[int]]:
        text = branch.value.strip()
        text = text[1:-1] if re.fullmatch(r"\[\s*\[.*\]\s*\]", text) else text
        between = [part.strip() for part in _GROUP.split(text)[::2]]
        groups = [[part.strip() for part in inner.split(",")] for inner in _GROUP.findall(text)]
        wrong = [part for group in groups for part in group if not re.fullmatch(r"\d{1,5}", part)]
        if not groups or wrong or between[0] or between[-1] or any(each not in ("", ",") for each in between):
            self._fail(branch, f"invalid groups {preview_value(branch.value)}; write e.g. [0,1], [2,3]")
        for index, each in enumerate(between[1:-1]):
            if not each:
                before, after = (f"[{','.join(group)}]" for group in groups[index : index + 2])
                self.remarks.append(
                    Remark(
                        f"howtogroup: a comma is missing between {before} and {after}; read as two groups", branch.line
                    )
                )
        return [[int(part) for part in group] for group in groups]

    def _interfaces(self, branch: Branch, key: Key) -> list[dict[str, Any]]:
        self._only(branch.children, ("number", INTERFACE))
        number = self._one(branch.children, "number", branch)
        branches = [each for _, each in self._numbered(branch.children, INTERFACE)]
        if self._number(number) != len(branches):
            self._fail(number, f"does not match the {len(branches)} interfaces described")
        return [self._interface(each, (*key, str(index))) for index, each in enumerate(branches)]

    def _interface(self, branch: Branch, key: Key) -> dict[str, Any]:
        modes = [each for each in branch.children if each.key in MODES]
        if len(modes) != 1 or modes[0].value or modes[0].children:
            self._fail(modes[-1] if modes else branch, f"requires one of {', '.join(MODES)} on a separate line")
        mode = modes[0]
        read = f"mode: {MODES[mode.key]}"
        self.lines[*key, "mode"] = mode.line
        if mode.bare:
            self.remarks.append(Remark(f"{mode.key} has no key or value; read as {read}", mode.line))
        rest = branch._replace(children=tuple(each for each in branch.children if each is not mode))
        return self._renamed(rest, ENDS, key) | {"mode": MODES[mode.key]}

    def _link(self, branch: Branch) -> _Link:
        self._only(branch.children, ("cpu-sets", "bandwidth"))
        names = self._one(branch.children, "cpu-sets", branch)
        matched = re.fullmatch(r"\[?\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\]?", names.value)
        if matched is None:
            self._fail(names, f"invalid sets {preview_value(names.value)}; write two sets, e.g. 0,1")
        bandwidth = self._one(branch.children, "bandwidth", branch)
        return _Link((int(matched[1]), int(matched[2])), bandwidth.value, names)

    def _links(self, links: list[_Link], names: list[int]) -> Iterator[dict[str, Any]]:
        """Yield links by the names of the sets; if these do not exist, by numbers one lower if all exist."""
        requested = {name for link in links for name in link.sets}
        shift = 0 if requested <= set(names) else 1
        for index, link in enumerate(links):
            sets = [name - shift for name in link.sets]
            key = ("profiles", "0", "links", str(index))
            if unknown := [name for name in sets if name not in names]:
                choices = ", ".join(map(str, names))
                self._fail(link.branch, f"set {unknown[0] + shift} does not exist; name two of {choices}")
            if shift:
                missing = next(name for name in sorted(requested) if name not in names)
                read = f"{link.sets[0]},{link.sets[1]} counted from 1, so sets {sets[0]} and {sets[1]}"
                text = f"cpu-set-bw names set {missing}, which does not exist; read as {read}: please confirm"
                self.remarks.append(Remark(text, link.branch.line))
            self.lines |= dict.fromkeys((key, (*key, "sets"), (*key, "bandwidth_bps")), link.branch.line)
            yield {"sets": [names.index(name) for name in sets], "bandwidth_bps": link.bandwidth}

    def _renamed(self, branch: Branch, names: dict[str, str], key: Key) -> dict[str, Any]:
        """Return values by nodrop's keys, still with units."""
        self.lines[key] = branch.line
        self._only(branch.children, tuple(names))
        for each in branch.children:
            self.lines[*key, names[each.key]] = each.line
        return {names[each.key]: each.value for each in branch.children}

    def _numbered(self, branches: tuple[Branch, ...], kind: str) -> Iterator[tuple[int, Branch]]:
        """Yield `cpu-set 0`, `cpu-set 1` ... by number."""
        seen: set[int] = set()
        for each in branches:
            matched = _NUMBERED.fullmatch(each.key)
            if not matched or matched[1] != kind:
                continue
            if int(matched[2]) in seen:
                self._fail(each, "duplicate; number each once")
            seen.add(int(matched[2]))
            yield int(matched[2]), each

    def _one(self, branches: tuple[Branch, ...], key: str, above: Branch | None) -> Branch:
        match = next((each for each in branches if each.key == key), None)
        if match is None:
            line = above.line if above else 1
            raise ConfigError(f"{self.name}: line {line}: {key}: missing, required by {CLAUSE}; add it")
        return match

    def _only(self, branches: tuple[Branch, ...], keys: tuple[str, ...]) -> None:
        """Reject unknown and repeated keys."""
        seen: set[str] = set()
        for each in branches:
            matched = _NUMBERED.fullmatch(each.key)
            is_known = each.key in keys or (matched and matched[1] in keys)
            if not is_known or (each.bare and each.key not in MODES):
                self._fail(each, f"unknown key; {CLAUSE} allows {', '.join(keys)} here")
            if each.key in seen and each.key != LINKS:
                self._fail(each, "duplicate; write it once")
            seen.add(each.key)

    def _number(self, branch: Branch) -> int:
        if not re.fullmatch(r"\d{1,9}", branch.value):
            self._fail(branch, f"invalid number {preview_value(branch.value)}; write an integer")
        return int(branch.value)

    def _mentions(self, unit: str) -> bool:
        return any(f"is read as {unit[0]}i" in each.text for each in self.remarks)

    def _fail(self, branch: Branch, problem: str) -> NoReturn:
        raise ConfigError(f"{self.name}: line {branch.line}: {branch.text}: {problem}")
