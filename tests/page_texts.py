"""Words of the pages, as in their templates: `python -m tests.page_texts > tests/unit/page_texts.txt`."""

import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment

import nodrop

TEMPLATES = Path(nodrop.__file__).parent / "server" / "pages" / "templates"
UNSEEN = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->", re.DOTALL)
ATTRIBUTE = re.compile(r"\b(?:alt|aria-label|placeholder|title)=\"([^\"]*)\"")
TAG = re.compile(r"<[^>]*>|<[^>]*$|^[^<]*>", re.MULTILINE)
WORDS = re.compile(r"[A-Z]?[a-z]+ \S|[A-Z][a-z]+")


def list_page_texts() -> Iterator[str]:
    """Yield the texts of each template, in its order: `compare.html: Recommendations`."""
    for template in sorted(TEMPLATES.glob("*.html")):
        for text in _list_texts(template.read_text(encoding="utf-8")):
            yield f"{template.name}: {text}"


def _list_texts(source: str) -> Iterator[str]:
    for _, kind, value in Environment().lex(UNSEEN.sub("", source)):
        if kind == "string":
            yield from [value[1:-1]] if WORDS.search(value) else []
        elif kind == "data":
            yield from ATTRIBUTE.findall(value)
            texts = (" ".join(each.split()) for each in TAG.sub("\n", value).split("\n"))
            yield from (text for text in texts if re.search("[a-zA-Z]{2}", text))


if __name__ == "__main__":
    print("\n".join(list_page_texts()))
