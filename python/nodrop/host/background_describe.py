"""Host description in a background thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future

from nodrop.host.describe import describe_host, open_local_source
from nodrop.model.chd import HostDescriptor
from nodrop.system.log_files import LOGGER

WAIT_MAX_S = 5.0
"""Upper limit for the wait; a description takes a second or two. A slower machine goes without one."""


def describe_local_host() -> HostDescriptor:
    """Describe this machine without CPU utilization, which would measure the concurrent work."""
    return describe_host(open_local_source(), with_load=False)


def describe_in_background(work: Callable[[], HostDescriptor | None]) -> Callable[[], HostDescriptor | None]:
    """Start a description; return a function that waits for it and returns None if it failed."""
    future = Future[HostDescriptor | None]()

    def run_work() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    def result() -> HostDescriptor | None:
        try:
            return future.result(WAIT_MAX_S)
        except Exception as error:
            LOGGER.warning("this machine is not described in the result: %s", repr(error))
            return None

    threading.Thread(target=run_work, name="host", daemon=True).start()
    return result
