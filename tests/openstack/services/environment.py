"""Installation of the services from PyPI into a separate virtual environment."""

import fcntl
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).with_name("constraints.txt")
ROOT = Path(__file__).parents[3]
PACKAGES = (
    *("keystone", "glance", "openstack-placement", "nova", "neutron"),
    *("openstacksdk", "waitress", "fixtures", "pymysql", "libvirt-python"),
)
"""Nova's fake driver imports `fixtures`."""


def install(venv: Path) -> None:
    """Create the environment unless it matches the constraints; concurrent callers wait."""
    venv.parent.mkdir(parents=True, exist_ok=True)
    stamp, constraints = venv / ".installed", CONSTRAINTS.read_text()
    with venv.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == constraints:
            return
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        uv = [ROOT / "scripts" / "uv", "pip", "install", "--quiet", "--python", f"{venv}/bin/python"]
        subprocess.run([*uv, "--constraints", CONSTRAINTS, "--build-constraints", CONSTRAINTS, *PACKAGES], check=True)
        stamp.write_text(constraints)
