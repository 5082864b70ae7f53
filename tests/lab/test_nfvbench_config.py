"""NFVbench's complete default configuration measures unchanged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.lab.bench import FULL_RATE
from tests.nfvbench_defaults import DEFAULTS
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]


def test_nfvbench_s_whole_default_file_measures_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "nfvbench.cfg").write_text(yaml.safe_dump(DEFAULTS, sort_keys=False))
    flags = ["-c", "nfvbench.cfg", "--rate", "2kpps", "--duration", "0.5", "-scc", "2", *FULL_RATE]
    done = subprocess.run(
        [sys.executable, "-m", "nodrop", "run", *flags],
        cwd=tmp_path,
        capture_output=True,
        timeout=stretch(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    (file,) = tmp_path.glob("results/*/result.json")
    result = json.loads(file.read_text())
    plan = result["plan"]
    assert (plan["lab"]["networks"], plan["lab"]["chain_count"]) == ("vlan", 2)
    assert plan["nfvbench"] == DEFAULTS | {"rate": "2kpps", "duration_sec": "0.5", "service_chain_count": 2}
    assert all(stream["received_count"] > 0 for stream in result["trials"][0]["streams"])
