"""Keys that a request body may not set: they name files, programs, addresses or devices of the server's host.

A client may measure and no more. The administrator sets these keys in the server's configuration.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodrop.model.trial_event import PROGRAM_ACTIONS

FILE = "names a file on the server's host"
CODE = "names code that would run on the server's host"
DESTINATION = "names a destination of results and logs"
DEVICE = "selects devices of the server's host"
PROCESS = "names processes of the server's host"
LAB = "names a lab on the server's host"
OWNER = "sets the owner of files on the server's host"
CLOUD = "names credentials on the server's host"
GENERATOR = "names a traffic generator that the server's host would start or connect to"

FORBIDDEN: dict[str, str] = {
    "results_dir": FILE,
    "results_index": DESTINATION,
    "capture.file": FILE,
    "traffic.replay.file": FILE,
    "engine.dpdk.devices": DEVICE,
    "ports": DEVICE,
    "allow_addressed_ports": DEVICE,
    "sut_pids": PROCESS,
    "sut_cgroups": PROCESS,
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
    "ship.fluentd": DESTINATION,
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
    "fluentd": DESTINATION,
    "user_id": OWNER,
    "group_id": OWNER,
}
"""Key and reason, for nodrop's and NFVbench's keys; keys below a forbidden key are forbidden, too."""

HARMLESS_VALUES: dict[str, tuple[object, ...]] = {
    "factory_module": ("nfvbench.factory",),
    "factory_class": ("BasicFactory",),
    "engine.dpdk.devices": ("auto",),
    "service_mode": (False,),
    "allow_addressed_ports": (False,),
    "ports": ([],),
    "sut_pids": ([],),
    "sut_cgroups": ([],),
}
"""Values without effect, as in a complete default configuration."""

WARM_START = "search.warm_start"
EVENT_LISTS = ("trial_events", "failover.trigger", "failover.revert", "migration.migrate", "migration.back")
RUN_ID = re.compile(r"latest|[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}")


RESULT_FILES = ("log_file", "json", "std_json")
"""NFVbench's keys for copies of the log and the result, which clients of its test suites send with every request."""


def drop_result_files(body: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a body without files of the log and the result, and a note for each."""
    notes = [
        f"{key}: {body[key]!r:.200} is not written, as a request may not name files of the server's host; GET /status "
        "returns the result"
        for key in RESULT_FILES
        if body.get(key)
    ]
    return {key: value for key, value in body.items() if key not in RESULT_FILES}, notes


def find_forbidden_keys(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each forbidden key of a body; null and empty values are ignored."""
    for key, value in _iter_paths(body, ""):
        reason = FORBIDDEN.get(key)
        if (
            reason
            and value not in (None, "")
            and value not in HARMLESS_VALUES.get(key, ())
            and not _is_unused(key, value)
        ):
            yield f"{key}: forbidden in a request ({reason}); set it in the server's configuration"
        if key == WARM_START and isinstance(value, str) and not RUN_ID.fullmatch(value):
            yield f"{key}: {value[:80]!r} is not a run id; use a run id or 'latest'"
        if key in EVENT_LISTS and any(action in str(value) for action in PROGRAM_ACTIONS):
            yield f"{key}: a program is forbidden in a request ({CODE}); use events of a pool's instances"


def _is_unused(key: str, value: Any) -> bool:
    """Return whether a list describes nothing to use: generators without ports, Fluentd servers without tags."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return False
    if key == "fluentd":
        return not any(each.get(tag) for each in value for tag in ("logging_tag", "result_tag"))
    if key == "traffic_generator.generator_profile":
        ports = [port for each in value for port in each.get("interfaces") or ()]
        return not any(isinstance(port, dict) and port.get("pci") for port in ports)
    return False


def _iter_paths(content: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        path = f"{above}{key}"
        yield path, value
        if isinstance(value, Mapping):
            yield from _iter_paths(value, f"{path}.")
