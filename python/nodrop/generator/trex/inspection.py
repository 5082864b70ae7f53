"""What a TRex server says of its ports before any of them is used."""

from nodrop.errors import GeneratorError
from nodrop.generator.trex.server import ensure_running
from nodrop.generator.trex.session import TrexSession
from nodrop.model.trex import TrexPlan, TrexPort


def inspect(plan: TrexPlan) -> tuple[TrexPort, ...]:
    """The ports of the plan, in its order; a server is started where that is wanted and none runs.

    Raises: GeneratorError where there is no server, or a port is missing or named twice.
    """
    if len({*plan.ports}) < len(plan.ports):
        raise GeneratorError(f"trex.ports: {', '.join(map(str, plan.ports))} asked, each only once; leave one out")
    ensure_running(plan)
    with TrexSession(plan) as session:
        found = {port.number: port for port in session.ports}
    missing = [number for number in plan.ports if number not in found]
    if missing:
        raise GeneratorError(
            f"trex.ports: {', '.join(map(str, missing))} asked, the server at {plan.host} has "
            f"{', '.join(map(str, found)) or 'none'}"
        )
    return tuple(found[number] for number in plan.ports)
