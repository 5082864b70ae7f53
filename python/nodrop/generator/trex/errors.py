"""Errors between nodrop and a TRex server."""

from nodrop.errors import GeneratorError


class TrexNoReply(GeneratorError):
    """The server does not reply: it does not run, cannot be reached, or ended."""


class TrexRefused(GeneratorError):
    """The server refused a request."""

    def __init__(self, message: str, method: str, code: int, reason: str) -> None:
        super().__init__(message)
        self.method = method
        self.code = code
        """JSON-RPC's error code, or one of TRex's own."""
        self.reason = reason
        """The server's message."""


class TrexPortsInUse(GeneratorError):
    """Another user holds the ports, or acquired them during the run."""


class TrexVersionError(GeneratorError):
    """The server's version or mode is not supported."""
