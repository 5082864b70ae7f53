"""The context that all pages share."""

import secrets
from dataclasses import dataclass, field

from nodrop.server.pages.chart_cache import ChartCache
from nodrop.server.rest.run_queue import RunQueue
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.sessions import Sessions
from nodrop.store.index import Index, open_index


@dataclass(frozen=True)
class Site:
    """Shared objects of all pages, available as `request.app.state.site`."""

    runs: RunQueue
    config: ServerConfig
    sessions: Sessions | None
    """None: no login required."""
    charts: ChartCache
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Key that signs forms."""

    def open_store(self) -> Index:
        """Open the up-to-date index of this server's results. Slow: not for the event loop."""
        return open_index(self.config.results_dir, self.config.results_index)
