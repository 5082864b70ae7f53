"""The sample printed in ETSI GS NFV-PER 001 clause 8.2.2.4, verbatim, and others of that form."""

import re
from pathlib import Path

import pytest
from tests.vms import sample

from nodrop.descriptors import read_vmd
from nodrop.descriptors.vmd import parse_vmd
from nodrop.errors import ConfigError

FILE = Path(__file__).parents[2] / "examples" / "vm" / "etsi-8.2.2.4.txt"
PRINTED = FILE.read_text()


def test_the_sample_is_read_as_it_stands() -> None:
    # Compared with the text of the document: 31 lines, with slips in lines 5, 15, 19 and 31.
    value, remarks = read_vmd(FILE)
    assert value == sample()
    assert [str(each) for each in remarks] == [
        "the form printed in clause 8.2.2.4 of ETSI GS NFV-PER 001 has no VM name; using 'etsi-8.2.2.4'",
        "line 5: howtogroup: a comma is missing between [0,1] and [2,3]; read as two groups",
        "line 7: 10GB is read as GiB, 2^30 bytes, here and below",
        "line 15: fully-dedicated has no key or value; read as mode: dedicated",
        "line 19: shared-sriov has no key or value; read as mode: sriov",
        "line 31: cpu-set-bw names set 2, which does not exist; "
        "read as 1,2 counted from 1, so sets 0 and 1: please confirm",
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"\n\n```\n{PRINTED}\n```\n",
        PRINTED.replace("  ", "    "),
        PRINTED.replace("\n", "\r\n"),
        PRINTED.replace("cpu-set ", "CPU-Set "),
        PRINTED.replace("fully-dedicated", "fully-dedicated:"),
        PRINTED.replace("[0,1] [2,3], [4,5], [6, 7]", "[[0,1], [2,3], [4,5], [6, 7]]"),
        PRINTED.replace("cpu-sets: 1,2", "cpu-sets: 0,1"),
        PRINTED.replace("cpu-sets: 1,2", "cpu-sets: [0, 1]"),
        PRINTED.replace("hugepages size", "hugepages-size"),
        PRINTED.replace("  interfaces:\n    number: 0\n", ""),
        "# a comment\n" + PRINTED.replace("memory:", "memory:\n# another"),
    ],
)
def test_what_differs_in_form_alone_is_the_same(text: str) -> None:
    assert parse_vmd(text, "etsi-8.2.2.4.txt")[0] == sample()


THREE = """\
cpu-sets: 3
cpu-set 0:
  cpus:
    number: 2
    howtogroup: [0,1]
  memory:
    total: 2GB
cpu-set 1:
  cpus:
    number: 4
  memory:
    total: 3GB
    hugepages size: 2MB
    hugepages number: 512
    bandwidth: 5GB/s
cpu-set 2:
  cpus:
    number: 3
    howtogroup: [6,7]
  memory:
    total: 1GB
  interfaces:
    number: 1
    interface 0:
      speed: 25Gbps
      shared-vswitch
cpu-set-bw:
  cpu-sets: 0,1
  bandwidth: 1Gbps
cpu-set-bw:
  cpu-sets: 1,2
  bandwidth: 2Gbps
"""


def test_three_sets_with_threads_of_their_own_and_two_links() -> None:
    value, remarks = parse_vmd(THREE, "x.txt")
    (profile,) = value.profiles
    assert [each.vcpus for each in profile.vcpu_sets] == [(0, 1), (2, 3, 4, 5), (6, 7, 8)]
    assert [each.pairs for each in profile.vcpu_sets] == [((0, 1),), (), ((6, 7),)]
    assert profile.vcpu_sets[1].memory.large_page_bytes == 2**21
    assert profile.vcpu_sets[1].memory.bandwidth_bytes_per_s == 5e9
    assert profile.vcpu_sets[2].interfaces[0].bandwidth_bps is None
    assert [each.sets for each in profile.links] == [(0, 1), (1, 2)]
    assert "assuming vCPUs 2 to 5 for this set" in " ".join(str(each) for each in remarks)


def test_links_counted_from_one_are_shifted_together() -> None:
    text = THREE.replace("cpu-sets: 1,2", "cpu-sets: 2,3").replace("cpu-sets: 0,1", "cpu-sets: 1,2")
    assert [each.sets for each in parse_vmd(text, "x.txt")[0].profiles[0].links] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cpu-sets: 2", "cpu-sets: 3", "does not match the 2 sets described"),
        ("cpu-set 1:", "cpu-set 0:", "line 20: cpu-set 0: duplicate"),
        ("cpu-sets: 1,2", "cpu-sets: 1,4", "line 31: cpu-sets: set 4 does not exist; name two of 0, 1"),
        ("cpu-sets: 1,2", "cpu-sets: both", "line 31: cpu-sets: invalid sets 'both'; write two sets, e.g. 0,1"),
        ("number: 8", "number: 6", "line 5: howtogroup: 6 vCPUs, but 8 are grouped"),
        ("number: 8", "number: eight", "line 4: number: invalid number 'eight'; write an integer"),
        (
            "[0,1] [2,3]",
            "[0,1] and [2,3]",
            "line 5: howtogroup: invalid groups '[0,1] and [2,3], [4,5], [6, 7]'; write e.g.",
        ),
        ("[0,1] [2,3]", "[0,x] [2,3]", "line 5: howtogroup:"),
        ("[8,9]", "[7,9]", "vCPU 7 occurs 2 times"),
        (
            "total: 10GB",
            "total: 3GB",
            "line 7: profiles.0.vcpu_sets.0.memory.total_bytes: 3 GiB is less than its large pages: 4 pages",
        ),
        ("total: 10GB", "total: plenty", "line 7: profiles.0.vcpu_sets.0.memory.total_bytes: 'plenty' is not a size"),
        ("number: 2\n", "number: 3\n", "does not match the 2 interfaces described"),
        ("shared-sriov", "shared-magic", "line 16: interface 1: requires one of fully-dedicated"),
        ("shared-sriov", "shared-sriov\n      shared-magic", "line 20: shared-magic: unknown key"),
        (
            "fully-dedicated",
            "fully-dedicated\n      shared-sriov",
            "one of fully-dedicated, shared-sriov, shared-vswitch",
        ),
        ("      shared-sriov\n", "", "line 16: interface 1: requires one of fully-dedicated"),
        ("  memory:\n    total: 4GB", "  memory:\n      total: 4GB", "inconsistent indentation"),
        ("      speed: 10Gbps", "        speed: 10Gbps", "inconsistent indentation"),
        ("  cpus:\n    number: 8", "\tcpus:\n    number: 8", "line 3: indented by a tab"),
        ("speed: 10Gbps", "speed: 10Gbps\n      color: red", "line 14: color: unknown key"),
        ("  memory:\n    total: 10GB", "  memory:\n    whole: 10GB", "line 7: whole: unknown key"),
        ("    total: 4GB\n", "", "memory.total_bytes: missing"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in PRINTED
    with pytest.raises(ConfigError) as caught:
        parse_vmd(PRINTED.replace(old, new, 1), "x.txt")
    assert message in str(caught.value)
    assert all(line.startswith(("x.txt: line ", "and ")) for line in str(caught.value).splitlines())


def test_every_truncation_is_refused_or_less() -> None:
    lines = PRINTED.splitlines(keepends=True)
    read = 0
    for count in range(1, len(lines)):
        try:
            value, _ = parse_vmd("".join(lines[:count]), "x.txt")
        except ConfigError as error:
            assert re.match(r"x\.txt: ", str(error))
        else:
            read += 1
            assert len(value.profiles[0].vcpu_sets) == 2
    assert read <= 8  # samples without the end of the second set, or without the link
