"""What the engine says of files and filters before any port is open."""

from typing import Any

from nodrop.errors import ConfigError, GeneratorError
from nodrop.generator.engine_process import EngineDied, EngineProcess, Reply
from nodrop.model.traffic import ReplayFound, ReplaySource

TIMEOUT_S = 60.0


def inspect(source: ReplaySource) -> ReplayFound:
    """What a file has to replay. Raises ConfigError naming file, key and value when it cannot be."""
    reply = _ask({"op": "inspect", **source.model_dump()}, "traffic.")
    return ReplayFound(**{key: value for key, value in reply.items() if key != "reply"})


def check_filter(text: str, section: str) -> None:
    """Try a filter. Raises ConfigError naming the key, `filter` of that section, when it cannot be used."""
    _ask({"op": "compile", "filter": text}, f"{section}.")


def _ask(request: dict[str, Any], prefix: str) -> Reply:
    """One question to an engine of its own; its refusals begin with a key, which gets the prefix."""
    engine = EngineProcess(None, lambda: None)
    try:
        return engine.ask(request, TIMEOUT_S)
    except GeneratorError as error:
        raise ConfigError(f"{prefix}{error}") from None
    except EngineDied as error:
        raise GeneratorError(f"{request['op']} asked: {error}") from None
    finally:
        engine.end()
