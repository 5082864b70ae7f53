"""This machine described while something else is done."""

import threading
from collections.abc import Callable
from concurrent.futures import Future

from nodrop.host.describe import describe_host, open_this_machine
from nodrop.model.chd import HostDescriptor
from nodrop.system.log_files import LOGGER

WAIT_MAX_S = 5.0
"""What is waited for takes a second or two at most; a machine that takes longer goes without."""


def describe_this_host() -> HostDescriptor:
    """This machine as it is, but for how busy its CPUs are: they are, with what goes on beside."""
    return describe_host(open_this_machine(), with_load=False)


def describe_in_background(work: Callable[[], HostDescriptor | None]) -> Callable[[], HostDescriptor | None]:
    """Begin to describe; what is given back waits for the description. None where there is none: that ends no run."""
    found = Future[HostDescriptor | None]()

    def carry_out() -> None:
        try:
            found.set_result(work())
        except Exception as error:
            found.set_exception(error)

    def result() -> HostDescriptor | None:
        try:
            return found.result(WAIT_MAX_S)
        except Exception as error:
            LOGGER.warning("this machine is not described in the result: %s", repr(error))
            return None

    threading.Thread(target=carry_out, name="host", daemon=True).start()
    return result
