"""What each rule of placement is worth: the picture, the table, what to know, and what the host cannot break."""

from collections.abc import Iterator

from nodrop.analysis.rule_costs import Price, PriceTable, Said
from nodrop.charts import rule_cost as pictured
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, Tone
from nodrop.report.document.figures import figure
from nodrop.report.rule_cost import (
    IMPOSSIBLE,
    KNOW,
    cost_text,
    kept_text,
    known_lines,
    method_text,
    rate_text,
    span_text,
)

TONES: dict[Said, Tone] = {Said.COSTS: "bad", Said.NO_LOAD: "bad", Said.GAINS: "good", Said.NOTHING: "good"}
CARDS_MAX = 8
RULES = (
    cells.word("rule broken"),
    cells.number("cost", "ratio"),
    cells.number("between"),
    cells.number("rate"),
    cells.word("said"),
    cells.sentences("how it was broken"),
)
NEVER = (cells.word("rule"), cells.sentences("why not"), cells.word("clause"))


def price_blocks(table: PriceTable) -> tuple[Block, ...]:
    """All prices of a suite."""
    return tuple(_blocks(table))


def price_cards(table: PriceTable) -> tuple[Card, ...]:
    """The dearest rules, for the first screen."""
    measured = [price for price in table.prices if price.said is not Said.NOT_MEASURED][:CARDS_MAX]
    return tuple(
        Card(
            label=price.rule.text,
            text=cost_text(price),
            about=price.said.value,
            details=tuple(line for line in (f"between {span_text(price)}", price.rule.how) if line),
            tone=TONES.get(price.said, "plain"),
        )
        for price in measured
    )


def _blocks(table: PriceTable) -> Iterator[Block]:
    yield Paragraph(text=kept_text(table))
    yield from figure(lambda: pictured.chart(table))
    yield Table(
        caption="Rule by rule", columns=RULES, rows=tuple(map(_row, table.prices)), note=f"{method_text(table)}."
    )
    if known := tuple(known_lines(table)):
        yield Paragraph(text=f"{KNOW}:")
        yield Bullets(items=known, tone="caution")
    if table.impossible:
        rows = tuple(tuple(map(cells.text, (rule.text, rule.why_not, rule.clause))) for rule in table.impossible)
        yield Table(caption=IMPOSSIBLE, columns=NEVER, rows=rows)


def _row(price: Price) -> tuple[Cell, ...]:
    return (
        cells.text(price.rule.text),
        Cell(text=cost_text(price), key=price.cost),
        cells.text(span_text(price)),
        cells.text(rate_text(price)),
        cells.text(price.said.value),
        cells.text(price.rule.how),
    )
