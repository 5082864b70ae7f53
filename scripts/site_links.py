"""Check of the built site: links lead to files and anchors of the site, and no page loads from another host."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}
"""Attributes whose files a browser loads with the page."""
LOADED_BY_STYLE = re.compile(r"""(?:url\(|@import)\s*['"]?((?:https?:)?//[^'")\s]+)""")
"""Files of other hosts that a style or a picture loads."""
NOT_LOADED = {"canonical", "next", "prev", "alternate"}
"""Relations of `link` that only point."""


class Page(HTMLParser):
    """The anchors of a page, its links, and the files it loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchor, the link or the loaded file of a tag."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        for name, value in values.items():
            if (tag, name) in LOADED and values.get("rel") not in NOT_LOADED:
                self.loads.add(value)


def find_problems(site: Path) -> Iterator[str]:
    """Yield a sentence for each dead link, dead anchor and file of another host."""
    read = cache(Page)
    for file in sorted((*site.rglob("*.css"), *site.rglob("*.svg"))):
        for url in LOADED_BY_STYLE.findall(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(site)}: loads {url} from another host; store it under docs/site"
    for file in sorted(site.rglob("*.html")):
        if file.name == "404.html":  # served at any depth, so its links are absolute
            continue
        name = file.relative_to(site)
        page = read(file)
        for url in sorted(page.loads):
            if urlsplit(url).netloc:
                yield f"{name}: loads {url} from another host; store it under docs/site"
        for url in sorted(page.links | page.loads):
            if problem := find_dead_end(file, url, read):
                yield f"{name}: {url} {problem}"


def find_dead_end(file: Path, url: str, read: Callable[[Path], Page]) -> str:
    """Return why a URL on a page leads nowhere, or an empty text; links to other hosts are not tried."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return ""
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        return "leads to no file; correct the link, or list the file in scripts/site.py"
    if target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
        return "leads to no anchor"
    return ""
