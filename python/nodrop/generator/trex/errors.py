"""What can go wrong between nodrop and a TRex server, by name."""

from nodrop.errors import GeneratorError


class TrexNoReply(GeneratorError):
    """The server gives no answer: it does not run, is not reached, or ended."""


class TrexRefused(GeneratorError):
    """The server answered that it will not."""

    def __init__(self, message: str, method: str, code: int, reason: str) -> None:
        super().__init__(message)
        self.method = method
        self.code = code
        """JSON-RPC's, or one of TRex's own."""
        self.reason = reason
        """In the server's words."""


class TrexPortsInUse(GeneratorError):
    """Somebody else holds the ports, or took them meanwhile."""


class TrexVersionError(GeneratorError):
    """The server is of a version, or in a mode, that nodrop does not speak with."""
