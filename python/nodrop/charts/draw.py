"""Charts as files, drawn without a browser and without the network."""

import json
from pathlib import Path

from nodrop.charts.base import Spec
from nodrop.errors import ConfigError

SUFFIXES = (".svg", ".png", ".vl.json")
VEGA_LITE = "5.20"
PNG_SCALE = 2
NOWHERE: list[str] = []
"""Where a chart may load things from."""


def write(spec: Spec, file: Path) -> None:
    """Draw a chart into a file, in the format of its suffix. Raises ConfigError."""
    suffix = require_suffix(file)
    try:
        file.write_bytes(drawn(spec, suffix))
    except OSError as error:
        raise ConfigError(f"{file}: asked to be written, {error.strerror}; name a place that can be") from None


def require_suffix(file: Path) -> str:
    """The format that a file's name asks for. Raises ConfigError."""
    suffix = next((suffix for suffix in SUFFIXES if file.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise ConfigError(
            f"{file}: a picture asked, of an unknown kind; name a file that ends in {', '.join(SUFFIXES)}"
        )
    return suffix


def drawn(spec: Spec, suffix: str) -> bytes:
    """A chart in the format of a suffix."""
    if suffix == ".vl.json":
        return (json.dumps(spec, indent=1, ensure_ascii=False) + "\n").encode()
    import vl_convert  # noqa: PLC0415

    if suffix == ".png":
        png: bytes = vl_convert.vegalite_to_png(spec, VEGA_LITE, scale=PNG_SCALE, allowed_base_urls=NOWHERE)
        return png
    svg: str = vl_convert.vegalite_to_svg(spec, VEGA_LITE, allowed_base_urls=NOWHERE)
    return svg.encode()
