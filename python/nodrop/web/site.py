"""What all pages share."""

import secrets
from dataclasses import dataclass, field

from nodrop.api.base import Base
from nodrop.api.runs import Runs
from nodrop.api.sessions import Sessions


@dataclass(frozen=True)
class Site:
    """What all pages share; a template's route finds it as `request.app.state.site`."""

    runs: Runs
    base: Base
    sessions: Sessions | None
    """None: nobody has to log in."""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """Forms are signed with it."""
