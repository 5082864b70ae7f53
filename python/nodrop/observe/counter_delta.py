"""What a host counted between two readings."""

from collections.abc import Iterator, Mapping


class Difference:
    """Counters by name, as much as they grew; a counter that is not there counted nothing."""

    def __init__(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        self._grown = {name: max(0, count - before.get(name, 0)) for name, count in after.items()}
        self._below: dict[str, list[tuple[str, int]]] = {}
        for name, count in self._grown.items():
            if count:
                self._file(name, count)

    def __contains__(self, name: str) -> bool:
        """Whether the host has this counter."""
        return name in self._grown

    def count(self, *names: str) -> int:
        """Growth of these counters together."""
        return sum(self._grown.get(name, 0) for name in names)

    def below(self, place: str) -> Iterator[tuple[str, int]]:
        """Counters that grew whose name starts with this place, as the rest of their name and their growth."""
        yield from self._below.get(place, ())

    def _file(self, name: str, count: int) -> None:
        """Under every place it is in: with many chains, going through all counters for each place takes too long."""
        at = name.find("/")
        while at >= 0:
            self._below.setdefault(name[:at], []).append((name[at + 1 :], count))
            at = name.find("/", at + 1)
