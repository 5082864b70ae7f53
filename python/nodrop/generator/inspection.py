"""Inspection of files, filters and TRex ports while a run is planned, before any port is open."""

import functools
from typing import Any

from nodrop.errors import ConfigError, GeneratorError
from nodrop.generator.engine_process import EngineDied, Reply, request_once
from nodrop.model.traffic import ReplayContents, ReplaySource
from nodrop.model.trex import TrexPlan, TrexPort

TIMEOUT_S = 60.0


def inspect_replay(source: ReplaySource) -> ReplayContents:
    """Return the frames that a capture file replays. Raises ConfigError naming file, key and value."""
    reply = _request({"op": "inspect", **source.model_dump()}, "traffic.")
    return ReplayContents(**{key: value for key, value in reply.items() if key != "reply"})


def check_filter(text: str, section: str) -> None:
    """Compile a filter. Raises ConfigError naming the key, `filter` of that section, if it is not valid."""
    _request({"op": "compile", "filter": text}, f"{section}.")


@functools.cache
def supports_xdp_live() -> bool:
    """Return whether XDP programs can send frames on this machine: the engine tries it."""
    try:
        return request_once({"op": "probe"}, TIMEOUT_S)["xdp_live_refusal"] is None
    except (GeneratorError, EngineDied):  # the run reports what is wrong with the engine
        return False


def inspect_trex_ports(plan: TrexPlan) -> tuple[TrexPort, ...]:
    """Return the ports of the plan, in its order; start a server if the plan starts one and none runs.

    Raises: GeneratorError if no server answers, or a port does not exist or is listed twice.
    """
    from nodrop.generator.trex.server import ensure_running
    from nodrop.generator.trex.session import TrexSession

    if len({*plan.ports}) < len(plan.ports):
        raise GeneratorError(f"trex.ports: a port is listed twice ({', '.join(map(str, plan.ports))}); list each once")
    ensure_running(plan)
    with TrexSession(plan) as session:
        ports = {port.number: port for port in session.ports}
    missing = [number for number in plan.ports if number not in ports]
    if missing:
        raise GeneratorError(
            f"trex.ports: port {', '.join(map(str, missing))} does not exist on the server at {plan.host}; "
            f"its ports are {', '.join(map(str, ports)) or 'none'}"
        )
    return tuple(ports[number] for number in plan.ports)


def _request(message: dict[str, Any], prefix: str) -> Reply:
    """Return the reply of an engine; its refusals begin with a key, which gets the prefix."""
    try:
        return request_once(message, TIMEOUT_S)
    except GeneratorError as error:
        raise ConfigError(f"{prefix}{error}") from None
    except EngineDied as error:
        raise GeneratorError(f"request {message['op']} failed: {error}") from None
