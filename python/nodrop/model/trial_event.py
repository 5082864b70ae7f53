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
ProgramAction = Literal["command", "migrate"]
"""A program that runs: one of the user, or `virsh migrate`."""
EventAction = InstanceAction | LoadAction | ProgramAction

INSTANCE_ACTIONS: tuple[InstanceAction, ...] = get_args(InstanceAction)
PROGRAM_ACTIONS: tuple[ProgramAction, ...] = get_args(ProgramAction)
EVENT_FORMS = (
    f"an event; write TIME {'|'.join(INSTANCE_ACTIONS)} INSTANCE, TIME load RATE, TIME streams NUMBER, TIME migrate "
    "DOMAIN FROM_URI TO_URI or TIME command PROGRAM ..., e.g. '3s kill 0'"
)

_EVENT = re.compile(r"\s*(\S+)\s+([a-z]+)\s+(\S.*?)\s*", re.DOTALL)


class LibvirtMigration(Value):
    """A live migration of a VM from one host of libvirt to another."""

    domain: str
    from_uri: str
    to_uri: str
    """The other host, as the first one reaches it."""
    options: tuple[str, ...] = ()
    """Further options of `virsh migrate`."""


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
    migration: LibvirtMigration | None = None
    """That of `migrate`."""

    @property
    def name(self) -> str:
        """Its name in results: `kill 0`, `migrate vnf to qemu+ssh://b/system`, or the command."""
        if self.command:
            return shlex.join(self.command)
        if self.migration:
            return f"migrate {self.migration.domain} to {self.migration.to_uri}"
        objects = {"load": self.rate, "streams": self.stream_count}
        return f"{self.action} {objects.get(self.action, self.instance)}"

    def write(self, at_s: float) -> str:
        """Return the event at another time, as a user would write it."""
        time = f"{at_s:.9g}s"
        if self.migration:
            each = self.migration
            return f"{time} migrate {shlex.join((each.domain, each.from_uri, each.to_uri, *each.options))}"
        return f"{time} {'command ' if self.command else ''}{self.name}"

    @property
    def runs_program(self) -> bool:
        """Whether a program of nodrop's host carries it out."""
        return self.action in PROGRAM_ACTIONS

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
    guest_pause_s: float | None = Field(default=None, ge=0)
    """Time for which the hypervisors paused the guest of a migration, which libvirt reports; None if not known."""


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
        return PlannedEvent(at_s=at_s, action="command", command=_split_words(text, rest))
    if action == "migrate":
        return PlannedEvent(at_s=at_s, action="migrate", migration=_parse_migration(text, rest))
    if action == "load":
        if not isinstance(parse_rate(rest), FixedRate):
            raise ValueError(f"{text!r}: {rest!r} is not a fixed rate; write for example load 20kpps")
        return PlannedEvent(at_s=at_s, action="load", rate=rest)
    if action == "streams" and rest.isdecimal() and int(rest) > 0:
        return PlannedEvent(at_s=at_s, action="streams", stream_count=int(rest))
    if action not in INSTANCE_ACTIONS or not rest.isdecimal():
        raise ValueError(f"{text!r} is not {EVENT_FORMS}")
    return PlannedEvent(at_s=at_s, action=action, instance=int(rest))


def _split_words(text: object, words: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(words))
    except ValueError:
        raise ValueError(f"{text!r}: a quotation has no end; write a quotation mark at both ends") from None


def _parse_migration(text: object, rest: str) -> LibvirtMigration:
    words = _split_words(text, rest)
    if len(words) < 3 or any(word.startswith("-") for word in words[:3]):
        raise ValueError(
            f"{text!r}: a migration has a domain and two URIs of libvirt, then options of virsh migrate; write for "
            "example 0s migrate vnf qemu:///system qemu+ssh://b/system"
        )
    domain, from_uri, to_uri, *options = words
    return LibvirtMigration(domain=domain, from_uri=from_uri, to_uri=to_uri, options=tuple(options))


def check_event(value: object) -> object:
    """Return the value unchanged if it is an event. Raises ValueError with the valid forms."""
    parse_event(value)
    return value
