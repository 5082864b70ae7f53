"""Everything nodrop raises on purpose, and the exit code a user's shell sees for it.

NodropError            1  never raised itself
├── ConfigError        2  what the user wrote cannot be done as written
├── StageError         3  the path under test could not be brought up, or fell down
│   ├── BusyError      3  another run is measuring on this machine
│   └── ImageError     3  the loopback VM's image could not be built
├── GeneratorError     4  the traffic generator could not start, connect or carry on
│   └── NoPath         4  frames do not go through some chains
├── SearchError        5  the search ended without an answer (no usable trial)
│   └── OutOfTime      5  it was not done in the time it was given
├── PlacementError     5  a VM fits on none of the hosts
├── ServerError        6  the server that was asked does not answer, or cannot do its work
├── ShipError          7  logs or results could not be delivered; never ends a run
├── VerdictError       8  a comparison or a trend found what it was told to fail on
└── HostError          9  a check of the host that is required failed
    └── HostUnknown   10  none failed, but some could not be decided

Ctrl-C is 130, as every shell expects. A message says what was asked, what was found and what to do.
"""


class NodropError(Exception):
    """The root: one class per way a run can fail, each with its exit code."""

    exit_code = 1


class ConfigError(NodropError):
    """A key, flag or value that cannot be used; the message names file, key and value."""

    exit_code = 2


class StageError(NodropError):
    """The lab or the system under test could not be brought up, or vanished during the run."""

    exit_code = 3


class BusyError(StageError):
    """Another run is measuring on this machine."""


class ImageError(StageError):
    """The image of the loopback VM cannot be built: a package, a program or room for it is missing."""


class GeneratorError(NodropError):
    """The packet engine could not start, open its ports, reach the other side, or stay alive."""

    exit_code = 4


class NoPathError(GeneratorError):
    """Learning frames do not go through."""

    def __init__(self, message: str, chains: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.chains = chains
        """Those through which they do not go."""


class SearchError(NodropError):
    """The search stopped without the bounds it was asked for."""

    exit_code = 5


class SearchTimeoutError(SearchError):
    """The search was not done in the time it was given; what it knew by then is kept."""


class PlacementError(NodropError):
    """A VM fits on none of the hosts; every reason was said before."""

    exit_code = 5


class ServerError(NodropError):
    """A server that `nodrop client` asked does not answer, or says that it cannot."""

    exit_code = 6


class ShipError(NodropError):
    """An aggregator cannot be reached, or does not take what it is sent. Ends `nodrop ship`, never a run."""

    exit_code = 7


class FailOnError(NodropError):
    """A comparison or a trend was told to fail on a verdict, and this is the verdict."""

    exit_code = 8


class HostError(NodropError):
    """A host does not meet what is required of it."""

    exit_code = 9


class HostUndecidedError(HostError):
    """Whether a host meets what is required of it could not be found out in full."""

    exit_code = 10
