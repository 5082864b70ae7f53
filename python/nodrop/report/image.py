"""A report as one image for a chat or a slide: the first cards and the first chart."""

from nodrop.charts import theme
from nodrop.charts.base import Chart, Row, Spec
from nodrop.errors import ConfigError
from nodrop.report.document.blocks import Card, Document

WIDTH = theme.LABELED_WIDTH
CARD_HEIGHT, CARD_GAP = 96, 14
CARDS_MAX = 3
TONES = {"good": theme.RECEIVED, "caution": theme.MEETS_SOME[0], "bad": theme.FAILS, "plain": theme.FRAME}


def build_image(document: Document) -> Chart:
    """Return the first cards above the first chart. Raises ConfigError without either."""
    charts = document.charts()
    cards = document.cards[:CARDS_MAX]
    below: list[Spec] = [charts[0].definition] if charts else []
    if not cards and not below:
        raise ConfigError(f"an image of {document.title}: nothing was measured; use --format html or md")
    return Chart(
        name="report",
        title=document.title,
        subtitle=document.trust,
        summary=f"{document.sentence} {document.trust}",
        definition={"vconcat": [_build_cards(len(cards)), *below], "spacing": 18},
        data=(charts[0].data if charts else {}) | {"cards": tuple(map(_build_row, range(len(cards)), cards))},
    )


def _build_row(position: int, card: Card) -> Row:
    return {
        "position": position,
        "label": card.label,
        "figure": card.text,
        "details": "\n".join(card.details[:2]),
        "color": TONES.get(card.tone, theme.FRAME),
    }


def _build_cards(count: int) -> Spec:
    """Return cards in a row, each with a bar in the color of its tone."""
    each = (WIDTH + CARD_GAP) / max(count, 1)
    scale = {"type": "linear", "domain": [0, max(count, 1)], "range": [0, WIDTH + CARD_GAP], "nice": False}
    x = {"field": "position", "type": "quantitative", "scale": scale, "axis": None}

    def line(field: str, top: float, size: int, weight: str = "normal", color: str = theme.INK) -> Spec:
        style = {"align": "left", "baseline": "top", "lineBreak": "\n", "limit": each - CARD_GAP - 16}
        mark = {"type": "text", "fontSize": size, "fontWeight": weight, "color": color, "dx": 16} | style
        return {"mark": mark, "encoding": {"x": x, "y": {"value": top}, "text": {"field": field}}}

    bar = {
        "mark": {"type": "rect", "width": 5, "xOffset": 3, "aria": False},
        "encoding": {
            "x": x,
            "y": {"value": 0},
            "y2": {"value": CARD_HEIGHT},
            "fill": {"field": "color", "type": "nominal", "scale": None},
        },
    }
    return {
        "data": {"name": "cards"},
        "width": WIDTH,
        "height": CARD_HEIGHT,
        "view": {"stroke": None},
        "layer": [
            bar,
            line("label", 2, 13),
            line("figure", 20, 26, "bold"),
            line("details", 56, 12, color=theme.MUTED),
        ],
    }


def find_chart(document: Document, name: str) -> Chart:
    """Return the first chart of a name. Raises ConfigError if there is none."""
    charts = {chart.name: chart for chart in reversed(document.charts())}
    if name not in charts:
        available = f"available: {', '.join(reversed(charts))}" if charts else "it has no charts"
        raise ConfigError(f"--chart: the report has no chart '{name}'; {available}")
    return charts[name]
