"""Themes of charts: colors by meaning, fonts, sizes and axes, for light and dark backgrounds and for print.

Charts use the colors of the light theme. Every color has a counterpart for dark backgrounds, and no two colors
share a light value, so a chart changes theme by replacing colors, in its definition or, for SVG in a page, by CSS.
"""

from typing import Any, Literal, NamedTuple, cast, get_args

from nodrop.charts.base import Spec

Theme = Literal["light", "dark", "print"]
THEMES: tuple[Theme, ...] = get_args(Theme)

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first font is built into the renderer, the others have the same widths: texts fit in every viewer."""
FONT_SIZE, LABEL_SIZE, TITLE_SIZE = 12, 13, 17
WIDTH, HEIGHT = 950, 300
"""Size of a panel in pixels, without axes, titles and legends: with its axis as wide as the column of a report."""
LABELED_WIDTH = 860
"""Width of a panel with labels at the right ends of its lines."""
PAGE_PADDING = 2
"""Space around a chart in a page, which aligns with the texts."""
LINE_WIDTH = 2.0
DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [10, 3, 2, 3])
"""Dash patterns, so that lines differ in more than color."""


class Color(NamedTuple):
    """A color for light and for dark backgrounds."""

    name: str
    light: str
    dark: str


_COLORS: list[Color] = []


def _register_color(name: str, light: str, dark: str) -> str:
    _COLORS.append(Color(name, light, dark))
    return light


# The strong colors are those of Okabe and Ito, Color Universal Design (2008), distinguishable with color blindness:
# lightened for dark backgrounds, two of them darkened for thin lines on white.
INK = _register_color("ink", "#333333", "#e4e6e8")
"""Texts, outlines."""
MUTED = _register_color("muted", "#5f6368", "#a9afb6")
"""Secondary texts and unclassified data."""
GRID = _register_color("grid", "#eeeeee", "#2c3238")
FRAME = _register_color("frame", "#cccccc", "#4a525a")
PALE = _register_color("pale", "#e8e8e8", "#272c32")
"""A highlighted region."""
PAPER = _register_color("paper", "#ffffff", "#15181c")
MEETS = _register_color("meets", "#0072b2", "#4aa3df")
"""A trial that meets every goal."""
FAILS = _register_color("fails", "#d55e00", "#f5853f")
"""A trial that meets no goal."""
INVALID = _register_color("invalid", "#999999", "#858c93")
"""An invalid trial."""
MEETS_SOME = (
    _register_color("some-1", "#e69f00", "#f7bd45"),
    _register_color("some-2", "#56b4e9", "#9bd8ff"),
    _register_color("some-3", "#f0e442", "#f4ec7a"),
)
"""Trials that meet some of the goals."""
GOALS = (
    _register_color("goal-1", "#00795a", "#35c79c"),
    _register_color("goal-2", "#a8457f", "#e48fc0"),
    INK,
    _register_color("goal-4", "#8a5a00", "#d9a441"),
    _register_color("goal-5", "#5b4fa8", "#a99df0"),
)
"""Goals, in configured order."""
SENT = MUTED
RECEIVED = _register_color("received", "#009e73", "#2fd3a2")
LOST = FAILS
OUTLIER = _register_color("outlier", "#cc79a7", "#e6a3c8")
"""Values far from the others of their series."""
LINES = (MEETS, RECEIVED, OUTLIER, MEETS_SOME[0], MEETS_SOME[1], FAILS, INK)
"""Lines of the same kind."""
FORWARD, REVERSE = MEETS, MEETS_SOME[0]
"""Directions."""

COLORS = tuple(_COLORS)
_PRINTED = {INK: "#000000", MUTED: "#333333"}
"""Darker greys, which are readable in print."""
_REPLACEMENTS: dict[Theme, dict[str, str]] = {
    "light": {},
    "dark": {color.light: color.dark for color in COLORS},
    "print": _PRINTED,
}


def get_goal_color(position: int) -> str:
    """Return the color of the goal at a position."""
    return GOALS[position % len(GOALS)]


def get_line_dash(position: int) -> list[int]:
    """Return the dash pattern of the line at a position."""
    return DASHES[position % len(DASHES)]


def get_line_color(position: int) -> str:
    """Return the color of the line at a position, among lines of the same kind."""
    return LINES[position % len(LINES)]


def build_config() -> Spec:
    """Vega-Lite's `build_config`: fonts, sizes and the colors of all that is not data."""
    text: Spec = {"labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE, "titleFontWeight": "normal"}
    ink: Spec = {"labelColor": INK, "titleColor": INK}
    return {
        "font": FONT,
        "view": {"stroke": FRAME},
        "axis": text | ink | {"gridColor": GRID, "domainColor": FRAME, "tickColor": FRAME, "titlePadding": 8},
        "legend": text | ink | {"labelLimit": 400, "columnPadding": 22},
        "header": ink | {"labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE, "labelFontWeight": "bold"},
        "title": {
            "color": INK,
            "fontSize": TITLE_SIZE,
            "subtitleFontSize": FONT_SIZE,
            "subtitleColor": MUTED,
            "subtitlePadding": 5,
            "anchor": "start",
            "frame": "group",
            "offset": 12,
        },
        "text": {"color": INK, "fontSize": FONT_SIZE},
        "rule": {"color": INK},
        "line": {"strokeWidth": LINE_WIDTH},
    }


def apply_theme(spec: Spec, theme: Theme = "light", *, background: bool = True) -> Spec:
    """Apply a theme to a chart; the definition's own configuration takes precedence.

    Args:
        spec: a complete chart with data, or a definition.
        theme: the theme.
        background: whether the chart has a background; otherwise it is transparent.
    """
    merged = spec | {
        "padding": spec.get("padding", 14 if background else PAGE_PADDING),
        "background": PAPER if background else None,
        "config": _merge_config(build_config(), spec.get("config", {})),
    }
    return cast(Spec, _replace_colors(merged, _REPLACEMENTS[theme]))


def build_css() -> str:
    """Build CSS that lets SVGs from `charts.render.render_svg`, in elements of class `chart`, follow the page's theme.

    Dark by the user's preference, or by `data-theme="dark"` on the root element; never with `data-theme="light"` or in
    print.
    """
    light = "".join(f"--chart-{color.name}:{color.light};" for color in COLORS)
    dark = "".join(f"--chart-{color.name}:{color.dark};" for color in COLORS)
    rules = [
        f":root{{{light}}}",
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}",
    ]
    rules += [
        f'.chart [{part}="{color.light}"]{{{part}:var(--chart-{color.name})}}'
        for color in COLORS
        for part in ("fill", "stroke")
    ]
    return "\n".join(rules) + "\n"


def _merge_config(base: Spec, override: Spec) -> Spec:
    """Merge a configuration with an override, recursively."""
    both = {
        key: _merge_config(base[key], override[key])
        for key in override
        if isinstance(base.get(key), dict) and isinstance(override[key], dict)
    }
    return base | override | both


def _replace_colors(part: Any, colors: dict[str, str]) -> Any:
    if isinstance(part, str):
        return colors.get(part, part)
    if isinstance(part, dict):
        return {key: _replace_colors(value, colors) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_replace_colors(value, colors) for value in part]
    return part
