"""An installed TRex: the selected release, its configuration, and the meaning of its log."""

from pathlib import Path

import pytest
import yaml
from tests.trex.installed import install, read_flags

from nodrop.errors import GeneratorError
from nodrop.generator.trex.installation import check_start, command_line, diagnose, find_release, platform_yaml
from nodrop.model.trex import TrexPlan, TrexStart


def start(**fields: object) -> TrexStart:
    return TrexStart(**{"interfaces": ("0000:03:00.0", "0000:03:00.1"), "cores": 2} | fields)


def test_the_newest_of_several_releases_is_taken(tmp_path: Path) -> None:
    for release in ("v2.89", "v3.08", "v3.1", "v2.95"):
        install(tmp_path, release)
    assert find_release(str(tmp_path)).name == "v3.08"


def test_a_release_itself_may_be_configured(tmp_path: Path) -> None:
    folder = install(tmp_path, "v2.89")
    assert find_release(str(folder)) == folder


def test_a_release_too_old_to_be_spoken_with_is_refused_with_those_found(tmp_path: Path) -> None:
    install(tmp_path, "v2.59")
    with pytest.raises(GeneratorError, match=r"v2\.89 or later in .* \(found v2\.59\)"):
        find_release(str(tmp_path))


def test_a_folder_without_trex_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=r"no t-rex-64 in .*missing"):
        find_release(str(tmp_path / "missing"))


def test_the_configuration_has_what_was_asked_and_nothing_else() -> None:
    requested = start(memory_mib=2048, mbuf_64=4096, platform={"master_thread_id": 0})
    (platform,) = yaml.safe_load(
        platform_yaml(TrexPlan(rpc_port=14501, publish_port=14500, start=requested), requested)
    )
    assert platform == {
        "version": 2,
        "port_limit": 2,
        "interfaces": ["0000:03:00.0", "0000:03:00.1"],
        "zmq_rpc_port": 14501,
        "zmq_pub_port": 14500,
        "prefix": "nodrop14501",
        "limit_memory": 2048,
        "memory": {"mbuf_64": 4096},
        "platform": {"master_thread_id": 0},
    }


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({}, {"--ignore-528-issue"}),
        ({"software": True, "vlans": True}, {"--software", "--vlan", "--ignore-528-issue"}),
        ({"i40e_mixed": "unbind"}, {"--unbind-unused-ports"}),
        ({"i40e_mixed": "exit"}, set()),
    ],
)
def test_the_command_has_the_flags_that_were_asked_for(fields: dict[str, object], flags: set[str]) -> None:
    requested = start(**fields)
    program, *words = command_line(TrexPlan(start=requested), requested, Path("/run/trex.yaml"))
    result = read_flags(words)
    assert program == "./t-rex-64"
    assert result.keys() - {"-i", "-c", "--iom", "--no-scapy-server", "--close-at-end", "--mbuf-factor", "--cfg"} == (
        flags | {"--hdrh"}
    )
    assert (result["-c"], result["--mbuf-factor"], result["--cfg"]) == ("2", "0.2", "/run/trex.yaml")


def test_ports_of_the_kernel_have_a_ring_and_other_ports_are_named_as_configured() -> None:
    requested = start(interfaces=("eth1", "0000:03:00.1", "dummy"), software=True, software_ring=4096)
    (platform,) = yaml.safe_load(platform_yaml(TrexPlan(start=requested), requested))
    assert platform["interfaces"] == [
        "--vdev=net_af_packet0,iface=eth1,blocksz=593920,framesz=9280,framecnt=4096",
        "0000:03:00.1",
        "dummy",
    ]
    (platform,) = yaml.safe_load(
        platform_yaml(TrexPlan(start=start(interfaces=("eth1",))), start(interfaces=("eth1",)))
    )
    assert platform["interfaces"] == ["eth1"]


def test_a_low_end_server_has_one_cpu() -> None:
    requested = start(low_end=True, low_end_core=1, cores=4, platform={"master_thread_id": 0})
    trex_plan = TrexPlan(start=requested)
    (platform,) = yaml.safe_load(platform_yaml(trex_plan, requested))
    assert (platform["low_end"], platform["low_end_core"], "platform" in platform) == (True, 1, False)
    assert read_flags(command_line(trex_plan, requested, Path("/run/trex.yaml"))[1:])["-c"] == "1"
    assert requested.thread_count == 1


def test_interfaces_come_in_pairs() -> None:
    with pytest.raises(GeneratorError, match="even number"):
        check_start(start(interfaces=("a", "b", "c")))


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("EAL: No free 2048 kB hugepages reported on node 0", "huge pages"),
        ("Could not find requested interface 0000:03:00.9", "no such interface"),
        ("zmq: Address already in use", "ports are in use"),
        ("Error: kernel uses other X710 interfaces, see --ignore-528-issue", "trex.start.i40e_mixed"),
        ("Please run this program as root/with sudo", "started by root"),
        ("trying to bind 0000:03:00.0 to igb_uio failed", "bound to a DPDK driver"),
        ("Error: You have 2 threads available", "trex.start.low_end"),
        ("EAL: core 2 unavailable", "trex.start.low_end"),
        ("ERROR: Maximum threads in platform section of config file is 1, unable to run with -c 4.", "start.platform"),
        ("Error: the number of cores should be 1 when the driver support only one tx queue", "lower trex.start.cores"),
        ("ERROR: i40e interface 03:00.1 is under Linux and will interfere with TRex", "trex.start.i40e_mixed"),
        ("ZMQ port is used by the following process:", "ports are in use"),
        ("You have mix of vdev and pdev interfaces in config file!", "use one kind"),
        ("0000:03:00.9 does not exist", "no such interface"),
        ("You must add the flag --software to CLI", "trex.start.software: true"),
        ("Error: Failed creating 64B mbuf pool with 16380 mbufs. Exiting", "trex.start.mbuf_factor"),
        ("Error: option --hdrh is not recognized.", "does not know an option"),
    ],
)
def test_what_a_log_says_is_told_in_words_beside_its_end(words: str, meaning: str) -> None:
    message = diagnose(f"Starting TRex\n\x1b[31m{words}\x1b[0m\n\n")
    assert meaning in message
    assert f" ({words.strip()}); its log ends:" in message
    assert message.endswith(f"    {words}")


OPTIONS = """
Usage: xx EAL common options:
  -c COREMASK         Hexadecimal bitmask of cores to run on
  -m MB               Memory to allocate (see also --socket-mem)
                      hugepages and vfio are described elsewhere

EAL options for DEBUG use only:
  --huge-unlink       Unlink hugepage files after init
EAL Linux options:
  --vfio-intr         Interrupt mode for VFIO (legacy|msi|msix)
  --create-uio-dev    Create /dev/uioX

"""


def test_no_cause_is_found_in_the_command_line_or_in_a_list_of_options() -> None:
    command = "$ cd /opt/trex/v3.08\n$ ./t-rex-64 -i -c 4 --software --ignore-528-issue --mbuf-factor 0.2\n"
    tail = "EAL: Error - exiting with code: 1\n  Cause: Invalid EAL arguments\n"
    assert diagnose(command + OPTIONS + tail) == (
        "its log ends:\n    EAL: Error - exiting with code: 1\n      Cause: Invalid EAL arguments"
    )
    assert "too few CPUs" in diagnose(f"{command}EAL: core 2 unavailable\n{OPTIONS}{tail}")


def test_a_log_that_says_nothing_known_is_shown_as_it_is() -> None:
    assert diagnose("one\ntwo\n") == "its log ends:\n    one\n    two"
    assert diagnose("") == "its log is empty"
