"""Keys that a request body may not set: they name files, programs, addresses or devices of the host the server is on.

Whoever may send a request may measure, and no more. What these keys say is for whoever starts the server, in its own
configuration.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

FILE = "it names a file of the server's host"
CODE = "it names code that the server's host would run"
ELSEWHERE = "it names where results and logs are sent"
DEVICE = "it is about devices of the server's host"
LAB = "it names a lab that stands on the server's host"
OWNER = "it says who on the server's host owns files"
CLOUD = "it names credentials on the server's host"
GENERATOR = "it names a traffic generator that the server's host would start or talk to"

REFUSED: dict[str, str] = {
    "results_dir": FILE,
    "results_index": ELSEWHERE,
    "capture.file": FILE,
    "traffic.replay.file": FILE,
    "engine.dpdk.devices": DEVICE,
    "ports": DEVICE,
    "allow_addressed_ports": DEVICE,
    "lab": LAB,
    "openstack.cloud": CLOUD,
    "openstack.openrc": CLOUD,
    "openstack.image.file": FILE,
    "openstack.flavor.vmd": FILE,
    "openstack.flavor.host": FILE,
    "trex.host": GENERATOR,
    "trex.rpc_port": GENERATOR,
    "trex.publish_port": GENERATOR,
    "trex.start": GENERATOR,
    "ship.fluentd": ELSEWHERE,
    "ship.buffer_dir": FILE,
    "ship.events_file": FILE,
    "ship.openmetrics_file": FILE,
    "ship.log_file": FILE,
    "ship.user_id": OWNER,
    "ship.group_id": OWNER,
    "log_file": FILE,
    "service_mode": FILE,
    "json": FILE,
    "std_json": FILE,
    "openrc_file": CLOUD,
    "clouds_detail": CLOUD,
    "vm_image_file": FILE,
    "traffic_generator.generator_profile": GENERATOR,
    "factory_module": CODE,
    "factory_class": CODE,
    "fluentd": ELSEWHERE,
    "user_id": OWNER,
    "group_id": OWNER,
}
"""Key and reason, in nodrop's form and in NFVbench's; whatever is below a key is refused with it."""

INHERENT: dict[str, tuple[object, ...]] = {
    "factory_module": ("nfvbench.factory",),
    "factory_class": ("BasicFactory",),
    "fluentd": ([{"logging_tag": None, "result_tag": None, "ip": "127.0.0.1", "port": 24224}],),
    "engine.dpdk.devices": ("auto",),
    "service_mode": (False,),
    "allow_addressed_ports": (False,),
    "ports": ([],),
}
"""Values that change nothing, as they stand in a default configuration that somebody sends as a whole."""

WARM_START = "search.warm_start"
RUN_ID = re.compile(r"latest|[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}")


def refusals(body: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for everything in a body that is refused; what is null asks for nothing."""
    for key, value in _paths(body, ""):
        reason = REFUSED.get(key)
        if reason and value is not None and value not in INHERENT.get(key, ()) and not _is_idle(key, value):
            yield f"{key}: asked in a request, {reason}; set it in the configuration the server is started with"
        if key == WARM_START and isinstance(value, str) and not RUN_ID.fullmatch(value):
            yield f"{key}: {value[:80]!r} asked in a request, a run id or latest expected; name a result by its run id"


def _is_idle(key: str, value: Any) -> bool:
    """Whether generators are described of which none has ports, so that none is used."""
    if key != "traffic_generator.generator_profile" or not isinstance(value, list):
        return False
    ports = [port for each in value if isinstance(each, dict) for port in each.get("interfaces") or ()]
    return not any(isinstance(port, dict) and port.get("pci") for port in ports)


def _paths(content: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        path = f"{above}{key}"
        yield path, value
        if isinstance(value, Mapping):
            yield from _paths(value, f"{path}.")
