"""A look at the servers every so often, beside the run, so that the run itself never waits for a cloud."""

import threading
from collections.abc import Callable, Mapping

from nodrop.errors import NodropError
from nodrop.stage.openstack.rest import Json
from nodrop.system.log_files import LOGGER

EVERY_S = 10.0


class Watch:
    """Looks until it is stopped, or one has fallen."""

    def __init__(self, look: Callable[[], Mapping[str, Json]], names: frozenset[str], every_s: float = EVERY_S) -> None:
        self._look = look
        self._names = names
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="openstack servers", daemon=True)
        self.fallen: str | None = None
        """What became of one that is ACTIVE no more."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a look that is on its way is not waited for long."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._every_s)

    def _watch(self) -> None:
        while not self.fallen and not self._stopping.wait(self._every_s):
            try:
                self.fallen = self._found()
            except NodropError as error:
                LOGGER.info("servers could not be looked at, which frames do not notice: %s", error)

    def _found(self) -> str | None:
        servers = self._look()
        if gone := sorted(self._names - servers.keys()):
            return f"server {gone[0]} was ACTIVE when the run began and is gone; somebody took it away: run again"
        for name, server in servers.items():
            if server["status"] != "ACTIVE":
                return (
                    f"server {name} was ACTIVE when the run began and is {server['status']}; look into its console "
                    f"(openstack console log show {name}) and run again"
                )
        return None
