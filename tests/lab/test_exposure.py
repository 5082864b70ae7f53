"""What a real libvirt daemon exposes of this machine: a private daemon of user nobody, in a temporary directory."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.waiting import await_true

from nodrop.cli import main

pytestmark = [pytest.mark.host, pytest.mark.lab, pytest.mark.usefixtures("require_root")]
NOBODY = 65534


@pytest.fixture
def daemon(require_tool: Callable[[str], Path]) -> Iterator[str]:
    """Start a private daemon; yield its address."""
    libvirtd = require_tool("libvirtd")
    virsh = require_tool("virsh")
    with tempfile.TemporaryDirectory(prefix="nodrop-") as place:
        root = Path(place)
        os.chown(root, NOBODY, NOBODY)
        config = root / "libvirtd.conf"
        config.write_text(f'listen_tls = 0\nunix_sock_dir = "{root}"\nauth_unix_ro = "none"\nauth_unix_rw = "none"\n')
        homes = dict.fromkeys(("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), place)
        with subprocess.Popen(
            [libvirtd, "-f", config, "-p", root / "pid"],
            env={**os.environ, **homes},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            stderr=subprocess.DEVNULL,
        ) as running:
            uri = f"qemu:///session?socket={root}/libvirt-sock"
            await_true(lambda: _replies(virsh, uri) or running.poll() is not None, "the daemon replies")
            yield uri
            running.terminate()


def _replies(virsh: Path, uri: str) -> bool:
    return not subprocess.run([virsh, "-r", "-c", uri, "capabilities"], capture_output=True, check=False).returncode


def test_a_real_daemon_shows_what_lscpu_and_meminfo_say(
    daemon: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OS_CLOUD", "OS_AUTH_URL", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["host", "exposure", "--libvirt-uri", daemon]) == 0
    output = capsys.readouterr().out
    assert "Memory Available" in output
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert f"of {total_kib / 2**20:.1f} GiB free" in output
    assert f"{os.cpu_count()} CPUs with their siblings" in output
    assert "Required by ETSI, not exposed by libvirt: Direct cache access" in " ".join(output.split())
