"""Defaults of nodrop for the machines of one site: an example of a configuration plugin."""

import os
import socket
from collections.abc import Mapping
from typing import Any


def defaults() -> Mapping[str, Any]:
    """Keys with values, as in a file: nodrop's, NFVbench's, or both. Whatever a user writes goes before them."""
    first, *others = sorted(os.sched_getaffinity(0))
    return {
        "profile": "standard",
        "engine": {"cores": [first]},
        "vnf": {"core": others[-1] if others else "none"},
        "search": {"max_load": "5Mpps"},
        "user_info": {"site": "example", "host": socket.gethostname()},
        "measurement": {"NDR": 0.0, "PDR": 0.1},
    }
