"""Parameters of a request, read as a TRex server reads them: by name, with a type, null if missing."""

from typing import Any

from tests.trex.wire import Refusal

MISSING = object()


class Params:
    """An object in a request."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def text(self, name: str, default: Any = MISSING) -> str:
        """Return a string."""
        return str(self._read(name, default, str, "a string"))

    def flag(self, name: str, default: Any = MISSING) -> bool:
        """Return a Boolean."""
        return bool(self._read(name, default, bool, "a boolean"))

    def integer(self, name: str, default: Any = MISSING, low: int = 0, high: int = 2**64 - 1) -> int:
        """Return an integer within bounds."""
        value = self._read(name, default, int, "an integer")
        if isinstance(value, bool) or not low <= value <= high:
            raise Refusal(f"field '{name}' value is out of range", -32602)
        return int(value)

    def number(self, name: str, default: Any = MISSING) -> float:
        """Return a number."""
        return float(self._read(name, default, (int, float), "a number"))

    def object(self, name: str) -> "Params":
        """Return an object."""
        return Params(self._read(name, MISSING, dict, "an object"))

    def list(self, name: str, default: Any = MISSING) -> list[Any]:
        """Return a list."""
        result = self._read(name, default, list, "an array")
        return [*result]

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        """Return one of these strings."""
        value = self.text(name)
        if value not in choices:
            raise Refusal(f"field '{name}' value '{value}' is not one of {', '.join(choices)}", -32602)
        return value

    def _read(self, name: str, default: Any, kind: Any, its_name: str) -> Any:
        value = self.values.get(name)
        if value is None:
            if default is MISSING:
                raise Refusal(f"field '{name}' value is null", -32602)
            return default
        if not isinstance(value, kind):
            raise Refusal(f"field '{name}' is not {its_name}", -32602)
        return value
