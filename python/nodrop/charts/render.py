"""Rendering of charts to files and pages, without a browser or network access."""

import functools
import hashlib
import json
import re
import threading
from html import escape
from pathlib import Path
from typing import Any, cast

from nodrop.charts.base import Chart, Spec
from nodrop.charts.theme import FONT, Theme, apply_theme
from nodrop.errors import ConfigError

SUFFIXES = (".svg", ".png", ".pdf", ".vl.json")
VEGA_LITE = "5.20"
PNG_SCALE = 2
ALLOWED_BASE_URLS: list[str] = []
"""URLs that a chart may load: none."""

_CONVERTER_LOCK = threading.Lock()
"""vl-convert waits for a lock of its own while it keeps the interpreter's, so two threads in it may never return."""
_DRAWING = re.compile(r' (d|transform|points|[xy][12]?|cx|cy|r|width|height)="([^"]*)"')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_FONT = f' font-family="{FONT}"'
_IDLE = re.compile(rf'<path class="foreground"[^>]* d=""[^>]*/>| opacity="1"|{re.escape(_FONT)}')
"""Markup without effect, a tenth of a drawing."""
_PART = re.compile(r'(<[a-z]+ [^>]*?) role="graphics-[a-z]+"([^>]*>)')
_ID = re.compile(r'(?<=\bid=")[^"]+|(?<=url\(#)[^)]+|(?<=href="#)[^"]+')


def write_chart(chart: Chart, file: Path, theme: Theme = "light") -> None:
    """Write a chart to a file, in the format of its suffix. Raises ConfigError."""
    suffix = require_suffix(file)
    try:
        file.write_bytes(render_spec(chart.spec, suffix, theme))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written ({error.strerror}); choose a writable path") from None


def require_suffix(file: Path) -> str:
    """Return the suffix of a file name that names a format. Raises ConfigError."""
    suffix = next((suffix for suffix in SUFFIXES if file.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise ConfigError(f"{file}: unknown image format; use a file name that ends in {', '.join(SUFFIXES)}")
    return suffix


def render_spec(spec: Spec, suffix: str, theme: Theme = "light") -> bytes:
    """Render a specification in the format of a suffix, with a background."""
    spec = apply_theme(spec, theme)
    if suffix == ".vl.json":
        return (json.dumps(spec, indent=1, ensure_ascii=False) + "\n").encode()
    import vl_convert

    if suffix == ".png":
        with _CONVERTER_LOCK:
            png: bytes = vl_convert.vegalite_to_png(
                spec, VEGA_LITE, scale=PNG_SCALE, allowed_base_urls=ALLOWED_BASE_URLS
            )
        return png
    if suffix == ".pdf":
        pdf: bytes = vl_convert.svg_to_pdf(_convert_to_svg(spec))
        return pdf
    return _convert_to_svg(spec).encode()


def render_png(chart: Chart, theme: Theme = "light") -> bytes:
    """Render a chart as PNG."""
    return render_spec(chart.spec, ".png", theme)


def render_pdf(chart: Chart, theme: Theme = "print") -> bytes:
    """Render a chart as a PDF page of the same size."""
    return render_spec(chart.spec, ".pdf", theme)


def render_svg(chart: Chart, theme: Theme = "light") -> str:
    """Render a chart as SVG for a page: with note and accessible name, without title and background.

    Ids are unique to the chart. In the light theme the SVG follows the theme of its page by `theme.build_css()`. Marks
    have an `aria-label`.
    """
    spec = apply_theme(chart.untitled | {"datasets": chart.spec["datasets"]}, theme, background=False)
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    prefix = f"{chart.name}-{digest}"
    start, rest = _PART.sub(_set_role, _IDLE.sub("", _convert_to_svg(spec, f"{prefix}-"))).split(">", 1)
    title = f'<title id="{prefix}-title">{escape(chart.title)}</title>'
    summary = f'<desc id="{prefix}-desc">{escape(chart.summary)}</desc>'
    references = f'aria-labelledby="{prefix}-title" aria-describedby="{prefix}-desc"'
    return f'{start}{_FONT} role="img" {references}>{title}{summary}{rest}'


def compile_chart(chart: Chart, theme: Theme) -> dict[str, Any]:
    """Compile a chart to Vega in a theme, without data, for browsers that load only Vega's runtime."""
    return cast(dict[str, Any], json.loads(_compile(json.dumps(chart.untitled), theme)))


@functools.lru_cache(64)
def _compile(definition: str, theme: Theme) -> str:
    import vl_convert

    spec = apply_theme(json.loads(definition), theme, background=False)
    with _CONVERTER_LOCK:
        return json.dumps(vl_convert.vegalite_to_vega(spec, VEGA_LITE))


def _convert_to_svg(spec: Spec, id_prefix: str = "") -> str:
    """Render SVG with reproducible ids; the renderer's own ids count up."""
    import vl_convert

    with _CONVERTER_LOCK:
        drawing: str = vl_convert.vegalite_to_svg(spec, VEGA_LITE, allowed_base_urls=ALLOWED_BASE_URLS)
    ids = {name: f"{id_prefix}c{number}" for number, name in enumerate(dict.fromkeys(_ID.findall(drawing)))}
    drawing = _ID.sub(lambda name: ids[name[0]], drawing)
    return _DRAWING.sub(lambda part: f' {part[1]}="{_LONG_NUMBER.sub(_round_coordinate, part[2])}"', drawing)


def _set_role(tag: re.Match[str]) -> str:
    """Set the role of an element: an image if it has a label, else none."""
    role = ' role="img"' if ' aria-label="' in tag[0] else ""
    return f"{tag[1]}{role}{tag[2]}"


def _round_coordinate(number: re.Match[str]) -> str:
    """Round a coordinate to a tenth of a pixel."""
    return f"{round(float(number[0]), 1):g}"
