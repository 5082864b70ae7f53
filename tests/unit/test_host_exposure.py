"""Table A.1 of ETSI GS NFV-PER 001, read from stacks; the lab tests use real answers of libvirt and OpenStack."""

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from nodrop.cli import main
from nodrop.host.exposure import FEATURES, kubernetes, libvirt, openstack
from nodrop.host.inputs import ProgramOutput, run_program
from nodrop.model.exposure import StackExposure
from nodrop.report.exposure import list_gaps

# Elements as https://libvirt.org/formatcaps.html and formatnode.html print them, for a host with two sockets.
CAPABILITIES = """<capabilities><host>
<cpu><arch>x86_64</arch><model>Cascadelake-Server</model><feature name='vmx'/><feature name='pku'/></cpu>
<iommu support='yes'/>
<topology><cells num='2'>
<cell id='0'><pages unit='KiB' size='4'>100</pages><pages unit='KiB' size='1048576'>16</pages>
<cpus num='2'><cpu id='0' socket_id='0' siblings='0,2'/><cpu id='2' socket_id='0' siblings='0,2'/></cpus></cell>
<cell id='1'><pages unit='KiB' size='1048576'>8</pages>
<cpus num='2'><cpu id='1' socket_id='1' siblings='1,3'/><cpu id='3' socket_id='1' siblings='1,3'/></cpus></cell>
</cells></topology></host>
<guest><arch name='x86_64'><domain type='qemu'/><domain type='kvm'/></arch></guest></capabilities>"""
CARD = """<device><name>pci_0000_3b_00_0</name><capability type='pci'><class>0x020000</class>
<product id='0x158b'>Ethernet Controller XXV710</product><vendor id='0x8086'>Intel Corporation</vendor>
<capability type='virt_functions' maxCount='64'/><numa node='0'/>
<pci-express><link validity='cap' port='0' speed='8' width='8'/><link validity='sta' speed='8' width='8'/></pci-express>
</capability></device>"""
MEMORY = "total  :  67108864 KiB\nfree   :  33554432 KiB\n"


def virsh(*command: str) -> ProgramOutput:
    """A daemon that answers as libvirt's does."""
    requested = " ".join(command[4:])
    answers = {
        "capabilities": CAPABILITIES,
        "nodedev-list --cap pci": "pci_0000_3b_00_0\n",
        "nodedev-dumpxml pci_0000_3b_00_0": CARD,
        "nodememstats": MEMORY,
        "freepages --all": "Node 0:\n1048576KiB: 16\n",
        "version --daemon": "Running against daemon: 10.0.0\n",
        "list --name": "vm1\n",
    }
    return ProgramOutput(answers[requested])


def feature_state(stack: StackExposure, key: str) -> tuple[str, str]:
    return stack.features[key].status, stack.features[key].value


def test_the_table_has_the_sixteen_rows_of_the_document_and_one_more():
    assert len(FEATURES) == 17
    assert [each.key for each in FEATURES if not each.priority] == ["tlb"]
    assert {each.name for each in FEATURES if each.priority == "Optional"} == {
        "PCI Crypto device present",
        "Software Accelerated OVS",
    }
    # as printed: 5 rows `Yes` at the hypervisor, 3 at the orchestrator
    assert [each.key for each in FEATURES if each.at_hypervisor == "Yes"] == [
        "hypervisor",
        "iommu",
        "memory",
        "sriov",
        "cpu",
    ]
    assert [each.key for each in FEATURES if each.at_orchestrator == "Yes"] == ["hypervisor", "memory", "large-pages"]
    assert [each.key for each in FEATURES if each.at_orchestrator.startswith("Depends")] == ["iommu", "cpu"]
    assert [each.key for each in FEATURES if each.at_hypervisor == "Currently not exposed"] == ["large-pages"]


@pytest.mark.parametrize("ways", [libvirt.READERS, openstack.READERS, kubernetes.READERS])
def test_every_stack_is_asked_for_every_row(ways):
    assert list(ways) == [each.key for each in FEATURES]


def test_libvirt_s_answers_are_read():
    result = libvirt.query_libvirt_exposure(virsh)
    assert result.version == "10.0.0"
    assert feature_state(result, "hypervisor") == ("exposed", "kvm qemu")
    assert feature_state(result, "iommu") == ("exposed", "support: yes")
    assert feature_state(result, "memory") == ("exposed", "32.0 of 64.0 GiB free")
    assert feature_state(result, "large-pages") == ("exposed", "16 of 1024 MiB, 8 of 1024 MiB; and how many are free")
    assert feature_state(result, "nic") == ("exposed", "Ethernet Controller XXV710")
    assert feature_state(result, "pci-socket") == ("exposed", "node 0")
    assert feature_state(result, "pci-bandwidth") == ("exposed", "8 GT/s by 8 lanes")
    assert feature_state(result, "sriov") == ("exposed", "up to 64 functions")
    assert feature_state(result, "core-socket") == ("exposed", "2 sockets")
    assert result.features["cores"].status == "partly"
    assert [each.key for each in list_gaps(FEATURES, result)] == ["direct-cache", "isolation", "kernel"]


def test_what_a_card_does_not_have_is_not_told_as_hidden():
    def without(*command: str) -> ProgramOutput:
        bare = "<device><capability type='pci'><class>0x020000</class></capability></device>"
        return ProgramOutput(bare) if "nodedev-dumpxml" in command else virsh(*command)

    assert libvirt.query_libvirt_exposure(without).features["sriov"].status == "unknown"


@pytest.mark.parametrize("text", [None, "", "<capabilities", "\x00"])
def test_a_daemon_that_does_not_answer_is_unknown_and_not_no(text):
    result = libvirt.query_libvirt_exposure(lambda *_: ProgramOutput(text, "no such socket"))
    assert result.why
    assert {each.status for each in result.features.values()} == {"unknown"}


def test_no_cloud_is_unknown_and_says_what_names_one(monkeypatch, tmp_path):
    for name in ("OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = openstack.query_openstack("compute1")
    assert "clouds.yaml" in result.why
    assert {each.status for each in result.features.values()} == {"unknown"}


ANSWERS = json.loads((Path(__file__).parent / "openstack-2026.2.json").read_text(encoding="utf-8"))
"""Answers of Nova (microversion up to 2.104), Placement and Neutron of OpenStack 2026.2, with Nova's fake driver on
two NUMA cells; key: service and path."""


LINKS = [{"rel": "self", "href": ""}]
ROOTS = {
    "placement /": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39", "status": "CURRENT", "links": LINKS}],
    "network /": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": "v2.0/"}]}],
}
"""Versions of those interfaces, as their references print them."""
ANSWERS |= {key: {"versions": versions} for key, versions in ROOTS.items()}


class Service:
    """An openstacksdk service that answers as a recorded one did."""

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, path: str, **_: object) -> SimpleNamespace:
        result = ANSWERS[f"{self.name} {path}"]
        return SimpleNamespace(json=lambda: result, raise_for_status=lambda: None)


class Cloud:
    compute, placement, network = Service("compute"), Service("placement"), Service("network")


def test_openstack_s_recorded_answers_are_read():
    (hypervisor,) = ANSWERS["compute /os-hypervisors/detail"]["hypervisors"]
    exposure = openstack.build_exposure(
        openstack.read_compute_host(Cloud(), hypervisor), openstack.read_version(Cloud())
    )
    assert exposure.version == "Nova 2.104"
    assert feature_state(exposure, "memory") == ("exposed", "131072 of 131072 MEMORY_MB free")
    assert feature_state(exposure, "cores") == ("partly", "128 VCPU free, 28 PCPU free, by number and not by name")
    assert feature_state(exposure, "hypervisor") == ("exposed", "fake, up")
    assert feature_state(exposure, "cpu") == ("partly", "Nehalem, 0 traits")
    assert {each.key for each in list_gaps(FEATURES, exposure)} == {
        *("iommu", "direct-cache", "large-pages", "nic", "pci-socket"),
        *("pci-bandwidth", "sriov", "core-socket", "kernel"),
    }


def test_devices_and_datapaths_that_openstack_reports_are_told():
    (hypervisor,) = ANSWERS["compute /os-hypervisors/detail"]["hypervisors"]
    more = openstack.read_compute_host(Cloud(), hypervisor)._replace(
        inventories={"SRIOV_NET_VF": {"total": 8}, "CUSTOM_PCI_8086_158B": {"total": 2}},
        traits=frozenset({"HW_CPU_X86_AVX2"}),
        agents=[{"configurations": {"datapath_type": "netdev"}}],
    )
    exposure = openstack.build_exposure(more)
    assert feature_state(exposure, "sriov") == ("exposed", "SRIOV_NET_VF=8")
    assert feature_state(exposure, "nic") == ("partly", "CUSTOM_PCI_8086_158B=2")
    assert feature_state(exposure, "ovs") == ("exposed", "datapath netdev (user space)")
    assert feature_state(exposure, "cpu") == ("exposed", "Nehalem, 1 traits")
    assert exposure.features["memory"].status == "not exposed"


# A Node as https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/ describes it, with labels as
# node feature discovery v0.16 sets them and resource names of Intel's and KubeVirt's device plugins.
NODE = {
    "kind": "Node",
    "metadata": {
        "name": "worker-1",
        "labels": {
            "kubernetes.io/hostname": "worker-1",
            "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true",
            "feature.node.kubernetes.io/cpu-model.family": "6",
            "feature.node.kubernetes.io/pci-0200_8086.present": "true",
            "feature.node.kubernetes.io/kernel-config.NO_HZ_FULL": "true",
        },
    },
    "status": {
        "addresses": [{"type": "Hostname", "address": "worker-1"}],
        "allocatable": {
            "cpu": "30",
            "memory": "62Gi",
            "hugepages-1Gi": "16Gi",
            "pods": "110",
            "devices.kubevirt.io/kvm": "1k",
            "intel.com/intel_sriov_netdevice": "8",
            "qat.intel.com/cy": "16",
        },
        "nodeInfo": {"kernelVersion": "5.14.0-427.el9", "kubeletVersion": "v1.30.2"},
    },
}
TOPOLOGY = {
    "metadata": {"name": "worker-1"},
    "zones": [
        {"name": "node-0", "type": "Node", "resources": [{"name": "cpu"}, {"name": "intel.com/intel_sriov_netdevice"}]},
        {"name": "node-1", "type": "Node", "resources": [{"name": "cpu"}]},
    ],
}
OBJECTS = {
    kubernetes.NODES: {"kind": "NodeList", "items": [NODE]},
    kubernetes.VERSION: {"gitVersion": "v1.30.2"},
    kubernetes.TOPOLOGIES: {"items": [TOPOLOGY]},
}


@pytest.fixture(autouse=True)
def kubeconfig(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")


def kubectl(*command: str) -> ProgramOutput:
    result = OBJECTS.get(command[-1])
    return (
        ProgramOutput(json.dumps(result))
        if result
        else ProgramOutput(None, "the server could not find the requested resource")
    )


def test_kubernetes_objects_are_read():
    result = kubernetes.query_kubernetes(kubectl, "worker-1")
    assert result.version == "v1.30.2"
    assert feature_state(result, "large-pages") == ("exposed", "hugepages-1Gi=16Gi")
    assert feature_state(result, "kernel") == ("exposed", "5.14.0-427.el9")
    assert feature_state(result, "hypervisor") == ("exposed", "devices.kubevirt.io/kvm=1k")
    assert feature_state(result, "sriov") == ("exposed", "intel.com/intel_sriov_netdevice=8")
    assert result.features["cores"].status == "partly"
    assert result.features["core-socket"].status == "exposed"
    assert [each.key for each in list_gaps(FEATURES, result)] == ["iommu", "direct-cache", "pci-bandwidth"]


def test_a_node_without_discovery_and_topology_shows_less():
    bare = {**NODE, "metadata": {"name": "worker-1", "labels": {}}}
    result = kubernetes.query_kubernetes(
        lambda *command: (
            ProgramOutput(json.dumps({"items": [bare]}))
            if command[-1] == kubernetes.NODES
            else ProgramOutput(None, "404")
        ),
        "worker-1",
    )
    assert {each.key for each in list_gaps(FEATURES, result)} >= {"cpu", "core-socket", "pci-socket", "nic"}


def test_another_cluster_s_nodes_are_not_taken_for_this_host():
    result = kubernetes.query_kubernetes(kubectl, "worker-9")
    assert "none of its nodes: worker-1" in result.why
    assert {each.status for each in result.features.values()} == {"unknown"}


class Api(http.server.BaseHTTPRequestHandler):
    """Serves objects as a Kubernetes API server does, and OpenStack's below the name of a service."""

    def do_GET(self) -> None:
        _, service, path = (*self.path.split("/", 2), "")[:3]
        result = OBJECTS.get(self.path.partition("?")[0]) or ANSWERS.get(
            f"{service} /{path.removeprefix('v2.1/').removeprefix('v2.0/')}"
        )
        body = json.dumps(result or {"kind": "Status", "code": 404}).encode()
        self.send_response(200 if result else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Discard the message."""


@pytest.fixture
def api() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
def test_the_real_kubectl_asks_what_an_api_server_serves(api, tmp_path: Path, monkeypatch):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": api}}],
        "users": [],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    result = kubernetes.query_kubernetes(partial(run_program, within_s=20), "worker-1")
    assert not result.why
    assert result == kubernetes.query_kubernetes(kubectl, "worker-1")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_the_real_openstacksdk_asks_what_services_answer(api, tmp_path: Path, monkeypatch):
    pytest.importorskip("openstack")
    places = {"compute": "compute/v2.1/", "placement": "placement", "network": "network"}
    cloud = {"auth_type": "none", **{f"{name}_endpoint_override": f"{api}/{at}" for name, at in places.items()}}
    (tmp_path / "clouds.json").write_text(json.dumps({"clouds": {"recorded": cloud}}))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.json"))
    monkeypatch.setenv("OS_CLOUD", "recorded")
    result = openstack.query_openstack("compute1")
    assert not result.why
    (hypervisor,) = ANSWERS["compute /os-hypervisors/detail"]["hypervisors"]
    assert result == openstack.build_exposure(openstack.read_compute_host(Cloud(), hypervisor), "Nova 2.104")
    assert "none of its compute hosts: compute1" in openstack.query_openstack("elsewhere").why


def test_the_command_says_that_nobody_could_be_asked(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "none.yaml"))
    for name in ("OS_CLOUD", "OS_AUTH_URL"):
        monkeypatch.delenv(name, raising=False)
    uri = f"qemu:///session?socket={tmp_path}/none"
    assert main(["host", "exposure", "--format", "json", "--libvirt-uri", uri]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["gaps"] == {"libvirt": None, "OpenStack": None, "Kubernetes": None}
    assert main(["host", "exposure", "--libvirt-uri", uri]) == 0
    assert "unknown, no stack could be queried" in capsys.readouterr().out
