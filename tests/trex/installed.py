"""A fake installed release of TRex: its program starts the test server with nodrop's configuration file and flags."""

import os
import re
import sys
from pathlib import Path

import yaml

SCRIPT = """#!/bin/sh
echo "Starting TRex {release}, please wait"
cd {root} && exec {python} -m tests.trex.installed "$@" {options}
"""
ALLOWED = {
    "-i": 0,
    "-c": 1,
    "--iom": 1,
    "--no-scapy-server": 0,
    "--close-at-end": 0,
    "--software": 0,
    "--vlan": 0,
    "--hdrh": 0,
    "--mbuf-factor": 1,
    "--ignore-528-issue": 0,
    "--unbind-unused-ports": 0,
    "--cfg": 1,
}
"""Options of TRex that this program accepts, with their number of values."""


def install(folder: Path, release: str = "v3.08", *options: str) -> Path:
    """Install a release of that name in a folder; options are the test server's."""
    program = folder / release / "t-rex-64"
    program.parent.mkdir(parents=True)
    root = Path(__file__).parents[2]
    text = SCRIPT.format(release=release, root=root, python=sys.executable, options=" ".join(("--", *options)))
    program.write_text(text)
    program.chmod(0o755)
    return program.parent


def install_broken(folder: Path, words: str, release: str = "v3.08") -> Path:
    """Install a release that prints these words and exits."""
    program = folder / release / "t-rex-64"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'Starting TRex'\ncat <<'END'\n{words}\nEND\nexit 255\n")
    program.chmod(0o755)
    return program.parent


def read_flags(arguments: list[str]) -> dict[str, str]:
    """Read TRex's own options. Exit on an unknown one."""
    result = {}
    words = iter(arguments)
    for word in words:
        if word not in ALLOWED:
            sys.exit(f"t-rex-64: unrecognized option '{word}'")
        result[word] = next(words) if ALLOWED[word] else ""
    return result


def find_interface(port: str) -> str:
    """Return the interface of a port, which may be a virtual device of DPDK: `--vdev=net_af_packet0,iface=eth1`."""
    named = re.search(r"^--vdev=net_af_packet\d+,(?:.*,)?iface=([^,]+)", port)
    return named[1] if named else port


def main() -> None:
    """Become the test server."""
    split = sys.argv.index("--")
    flags, options = read_flags(sys.argv[1:split]), sys.argv[split + 1 :]
    (platform,) = yaml.safe_load(Path(flags["--cfg"]).read_text())
    if platform["version"] != 2 or platform["port_limit"] != len(platform["interfaces"]):
        sys.exit("Configuration file is old, expected version 2")
    command = [
        *(sys.executable, "-m", "tests.trex.server"),
        *("--interfaces", ",".join(map(find_interface, platform["interfaces"]))),
        *("--rpc-port", str(platform["zmq_rpc_port"]), "--publish-port", str(platform["zmq_pub_port"])),
        *("--cores", str(int(flags["-c"]) * len(platform["interfaces"]) // 2)),
        *([] if "--hdrh" in flags else ["--no-hdrh"]),
        *([] if "--software" in flags else ["--hardware"]),
        *options,
    ]
    os.execv(sys.executable, command)


if __name__ == "__main__":
    main()
