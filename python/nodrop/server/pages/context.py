"""What all pages share."""

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sessions import Sessions
from nodrop.store.index import Index, open_index

if TYPE_CHECKING:
    from nodrop.server.pages.chart_routes import ChartCache


@dataclass(frozen=True)
class Site:
    """What all pages share; found as `request.app.state.site`."""

    runs: RunQueue
    config: ServerConfig
    sessions: Sessions | None
    """None: nobody has to log in."""
    drawings: "ChartCache"
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Forms are signed with it."""

    def open_store(self) -> Index:
        """The index of this server's results, as the files are now. Takes time: not for the event loop."""
        return open_index(self.config.results_dir, self.config.results_index)
