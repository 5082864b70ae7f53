"""Events of a trial: changes of the SUT or of the load at a time, and when they happened."""

import re
import shlex
from typing import Literal, get_args

from pydantic import Field

from nodrop.model.base import Value
from nodrop.rates import FixedRate, parse_rate
from nodrop.units import parse_seconds

InstanceAction = Literal["kill", "stop", "continue", "start", "withdraw", "restore"]
"""What happens to an instance of a pool: SIGKILL, SIGSTOP, SIGCONT, or a new process in its place; the balancer takes
it out of service, or puts it back."""
LoadAction = Literal["load", "streams"]
"""What changes the load: another rate of all streams, or another number of streams that send."""
EventAction = InstanceAction | LoadAction | Literal["command"]

INSTANCE_ACTIONS: tuple[InstanceAction, ...] = get_args(InstanceAction)
EVENT_FORMS = (
    f"an event; write TIME {'|'.join(INSTANCE_ACTIONS)} INSTANCE, TIME load RATE, TIME streams NUMBER or TIME command "
    "PROGRAM ..., e.g. '3s kill 0'"
)

_EVENT = re.compile(r"\s*(\S+)\s+([a-z]+)\s+(\S.*?)\s*", re.DOTALL)


class PlannedEvent(Value):
    """An event to carry out in a trial."""

    at_s: float = Field(ge=0)
    """Time from the begin of the trial."""
    action: EventAction
    instance: int | None = Field(default=None, ge=0)
    """Instance of the pool that the action applies to."""
    rate: str = ""
    """Rate of `load`, over all directions if all streams send, as the user wrote it."""
    stream_count: int | None = Field(default=None, ge=1)
    """Number of `streams` of each direction and chain that send."""
    command: tuple[str, ...] = ()
    """Program and arguments of `command`."""

    @property
    def name(self) -> str:
        """Its name in results: `kill 0`, or the command."""
        if self.command:
            return shlex.join(self.command)
        objects = {"load": self.rate, "streams": self.stream_count}
        return f"{self.action} {objects.get(self.action, self.instance)}"

    def write(self, at_s: float) -> str:
        """Return the event at another time, as a user would write it."""
        return f"{at_s:.9g}s {'command ' if self.command else ''}{self.name}"

    @property
    def changes_load(self) -> bool:
        """Whether the tester itself carries it out."""
        return self.action in ("load", "streams")


class TrialEvent(Value):
    """An event that was carried out. Times are those of the trial: from the time at which its first frame was due."""

    name: str
    begin_s: float
    """Time right before the event."""
    end_s: float
    """Time right after it: a process has been sent its signal or is ready, a command has ended."""
    problem: str = ""
    """Why it failed; empty if it did not."""


def parse_event(text: object) -> PlannedEvent:
    """Parse `3s kill 0` or `3s command systemctl restart vpp`. Raises ValueError with the valid forms."""
    match = _EVENT.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"{text!r} is not {EVENT_FORMS}")
    time, action, rest = match.groups()
    at_s = parse_seconds(time)
    if at_s < 0:
        raise ValueError(f"{text!r}: the time is negative; write 0 or more")
    if action == "command":
        return PlannedEvent(at_s=at_s, action="command", command=tuple(shlex.split(rest)))
    if action == "load":
        if not isinstance(parse_rate(rest), FixedRate):
            raise ValueError(f"{text!r}: {rest!r} is not a fixed rate; write for example load 20kpps")
        return PlannedEvent(at_s=at_s, action="load", rate=rest)
    if action == "streams" and rest.isdecimal() and int(rest) > 0:
        return PlannedEvent(at_s=at_s, action="streams", stream_count=int(rest))
    if action not in INSTANCE_ACTIONS or not rest.isdecimal():
        raise ValueError(f"{text!r} is not {EVENT_FORMS}")
    return PlannedEvent(at_s=at_s, action=action, instance=int(rest))


def check_event(value: object) -> object:
    """Return the value unchanged if it is an event. Raises ValueError with the valid forms."""
    parse_event(value)
    return value
