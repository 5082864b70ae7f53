"""An installed TRex: its release, configuration file and command line.

Source: TRex manual, platform configuration file and command line options.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from nodrop.errors import GeneratorError
from nodrop.model.trex import TrexPlan, TrexStart

PROGRAM = "t-rex-64"
RELEASE = re.compile(r"v?(\d+)\.(\d+)")
OLDEST = (2, 89)
CONFIGURATION_VERSION = 2
I40E_MIXED = {"ignore": ["--ignore-528-issue"], "unbind": ["--unbind-unused-ports"], "exit": []}


def find_release(configured: str) -> Path:
    """Return the directory of the release to start: the configured one, or the newest in it from v2.89 on.

    Raises: GeneratorError with the releases found.
    """
    folder = Path(configured)
    if (folder / PROGRAM).is_file():
        return folder
    installed = [path.parent for path in folder.glob(f"*/{PROGRAM}")] if folder.is_dir() else []
    if not installed:
        raise GeneratorError(
            f"trex.start.directory: no {PROGRAM} in {configured} or its subdirectories; install TRex "
            "(https://trex-tgn.cisco.com/trex/release), or set its directory"
        )
    newest = max(installed, key=_release)
    # A directory without a version in its name is used only if it is the only one.
    if _release(newest) < OLDEST and (len(installed) > 1 or RELEASE.search(newest.name)):
        names = ", ".join(sorted(path.name for path in installed))
        raise GeneratorError(
            f"trex.start.directory: no TRex v{OLDEST[0]}.{OLDEST[1]} or later in {configured} (found {names}); "
            "install a later release"
        )
    return newest


def platform_yaml(plan: TrexPlan, start: TrexStart) -> str:
    """Return the text of the file for `--cfg`."""
    platform: dict[str, Any] = {
        "version": CONFIGURATION_VERSION,
        "port_limit": len(start.interfaces),
        "interfaces": list(start.interfaces),
        "zmq_rpc_port": plan.rpc_port,
        "zmq_pub_port": plan.publish_port,
        "prefix": f"nodrop{plan.rpc_port}",
    }
    if start.memory_mib:
        platform["limit_memory"] = start.memory_mib
    if start.mbuf_64 is not None:
        platform["memory"] = {"mbuf_64": start.mbuf_64}
    if start.platform is not None:
        platform["platform"] = start.platform
    return yaml.safe_dump([platform], sort_keys=False, default_flow_style=None)


def command_line(plan: TrexPlan, start: TrexStart, file: Path) -> list[str]:
    """Return the command line, to be run in the release's directory."""
    return [
        f"./{PROGRAM}",
        "-i",
        "-c",
        str(start.cores),
        *("--iom", "0"),
        "--no-scapy-server",
        "--close-at-end",
        *(["--software"] if start.software else []),
        *(["--vlan"] if start.vlans else []),
        *(["--hdrh"] if plan.histograms else []),
        *("--mbuf-factor", f"{start.mbuf_factor:g}"),
        *I40E_MIXED[start.i40e_mixed],
        *("--cfg", str(file)),
    ]


def check_start(start: TrexStart) -> None:
    """Raise GeneratorError for settings that TRex would refuse to start with."""
    if len(start.interfaces) % 2:
        raise GeneratorError(
            f"trex.start.interfaces: TRex needs an even number of interfaces ({len(start.interfaces)}); add one, or "
            "`dummy` for a missing one"
        )


def _release(folder: Path) -> tuple[int, int]:
    found = RELEASE.search(folder.name)
    return (int(found[1]), int(found[2])) if found else (0, 0)
