"""The exceptions that nodrop raises, and the exit code of each.

NodropError                   1  base class, never raised itself
├── StoreError                1  a result could not be stored in its directory
├── ConfigError               2  the configuration or command line cannot be used
├── StageError                3  the path under test could not be brought up, or went down
│   ├── BusyError             3  another run is measuring on this machine
│   └── ImageError            3  the loopback VM's image could not be built
├── GeneratorError            4  the traffic generator could not start, connect or continue
│   └── NoPathError           4  frames do not pass some chains
├── SearchError               5  the search ended without a result (no usable trial)
│   └── SearchTimeoutError    5  the search exceeded its time
├── PlacementError            5  a VM fits on none of the hosts
├── ServerError               6  a server does not answer, or cannot do its work
├── ShipError                 7  logs or results could not be delivered; never ends a run
├── FailOnError               8  a comparison, trend or test has an outcome to fail on, or an expectation is not met
├── HostError                 9  a required check of the host failed
│   └── HostUndecidedError   10  no check failed, but some could not be decided
└── OfferedShortError        11  the tester sent less than the fixed rate

Ctrl-C exits with 130, by convention of shells. Messages have the form `key: problem (value); fix`.
"""


class NodropError(Exception):
    """The base class; each way a run can fail has a subclass and an exit code."""

    exit_code = 1


class StoreError(NodropError):
    """A result could not be stored in its directory; the message names the place where it is instead."""


class ConfigError(NodropError):
    """A key, flag or value that cannot be used; the message names file, key and value."""

    exit_code = 2


class StageError(NodropError):
    """The lab or the system under test could not be brought up, or vanished during the run."""

    exit_code = 3


class BusyError(StageError):
    """Another run is measuring on this machine."""


class ImageError(StageError):
    """The image of the loopback VM cannot be built: a package, a program or disk space is missing."""


class GeneratorError(NodropError):
    """The traffic generator could not start, open its ports, reach the other side, or keep running."""

    exit_code = 4


class NoPathError(GeneratorError):
    """Learning frames do not pass some chains."""

    def __init__(self, message: str, chains: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.chains = chains
        """Chains that no learning frames pass."""


class SearchError(NodropError):
    """The search stopped without the required bounds."""

    exit_code = 5


class SearchTimeoutError(SearchError):
    """The search exceeded its time; the bounds so far are kept."""


class PlacementError(NodropError):
    """A VM fits on none of the hosts; the reasons have been reported."""

    exit_code = 5


class ServerError(NodropError):
    """A server that `nodrop client` called does not answer, or reports an error."""

    exit_code = 6


class ShipError(NodropError):
    """An aggregator is unreachable, or rejects records. Ends `nodrop ship`, never a run."""

    exit_code = 7


class FailOnError(NodropError):
    """The outcome of a comparison or trend is one that the user requested to fail on, or not one that they expect, or a
    service fails its tests."""

    exit_code = 8


class HostError(NodropError):
    """A host fails a required check."""

    exit_code = 9


class HostUndecidedError(HostError):
    """Some required checks of a host could not be decided."""

    exit_code = 10


class OfferedShortError(NodropError):
    """The tester sent less than 99 % of the fixed rate; the measurements are those at the lower rate."""

    exit_code = 11
