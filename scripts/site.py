"""The documentation site (`scripts/docs`): generated references, navigation, build and link check."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from scripts import command_pages, endpoint_pages, site_links

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "target" / "docs"
SOURCE = TARGET / "source"
"""A copy of the documents, in the layout of the repository, so that their links work unchanged."""
SITE = TARGET / "site"
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "benchmarks/README.md")
DOCUMENT_TREES = ("docs", "examples", "schema", "tests/openstack/README.md", "tests/suites.toml")
INDEX = "docs/README.md"
"""The list of all pages, and the order of the navigation."""
COMMANDS = "docs/reference/commands.md"
LINK = re.compile(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")


def main() -> int:
    """Build the site and check its links; returns the exit code."""
    copy_documents()
    commands = write_references()
    navigation = read_navigation(commands)
    unlisted = find_unlisted_pages(navigation)
    if unlisted:
        print(f"{INDEX} does not list {', '.join(unlisted)}; add a link", file=sys.stderr)
        return 1
    try:
        build(navigation)
    except subprocess.CalledProcessError as error:
        return error.returncode
    problems = list(site_links.find_problems(SITE))
    print("\n".join(problems) if problems else f"{SITE.relative_to(ROOT)}/index.html")
    return 1 if problems else 0


def copy_documents() -> None:
    """Copy all documents, and the files they link to, into a new source directory."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for name in (*DOCUMENTS, *DOCUMENT_TREES):
        (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, SOURCE / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / name, SOURCE / name)


def write_references() -> list[str]:
    """Write the references of commands and endpoints; returns the pages of the commands."""
    endpoints = SOURCE / "docs" / "reference" / "rest.md"
    endpoints.write_text(endpoints.read_text(encoding="utf-8") + endpoint_pages.make_text(), encoding="utf-8")
    folder = SOURCE / COMMANDS.removesuffix(".md")
    folder.mkdir()
    pages = command_pages.make_pages()
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    rows = "\n".join(f"- [`nodrop {name}`](commands/{name}.md)" for name in pages)
    with (SOURCE / COMMANDS).open("a", encoding="utf-8") as index:
        index.write(f"\n{rows}\n")
    return [str((folder / f"{name}.md").relative_to(SOURCE)) for name in pages]


def read_navigation(commands: list[str]) -> list[dict[str, Any]]:
    """Return the navigation: a section for each heading of the index, with the pages linked below it."""
    navigation: list[dict[str, Any]] = [{"Home": "README.md"}, {"Contents": INDEX}]
    for heading, text in split_sections((SOURCE / INDEX).read_text(encoding="utf-8"), "##"):
        groups = list(split_sections(text, "###"))
        pages: list[Any] = list(list_links(INDEX, text)) if not groups else []
        for title, part in groups:
            pages.append({title: [page for link in list_links(INDEX, part) for page in expand(link, commands)]})
        navigation.append({heading: [page for link in pages for page in expand(link, commands)]})
    return navigation


def split_sections(text: str, mark: str) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each section that starts with this mark."""
    parts = re.split(rf"^{mark} (.+)\n", text, flags=re.MULTILINE)
    return zip(parts[1::2], parts[2::2], strict=True)


def list_links(page: str, text: str) -> list[str]:
    """Return the pages that a text on a page links to, each once."""
    folder = (SOURCE / page).parent
    links = ((folder / link).resolve().relative_to(SOURCE.resolve()) for link in LINK.findall(text))
    return list(dict.fromkeys(map(str, links)))


def expand(entry: Any, commands: list[str]) -> list[Any]:
    """Return the entry, and for an index page the pages it lists."""
    if entry == COMMANDS:
        return [{"Commands": [entry, *commands]}]
    if entry == "docs/decisions/README.md":
        return [entry, *list_links(entry, (SOURCE / entry).read_text(encoding="utf-8"))]
    return [entry]


def find_unlisted_pages(navigation: list[dict[str, Any]]) -> list[str]:
    """Return the pages that the navigation lacks."""
    listed = set(iter_pages(navigation))
    return sorted(name for file in SOURCE.rglob("*.md") if (name := str(file.relative_to(SOURCE))) not in listed)


def iter_pages(entry: Any) -> Iterator[str]:
    """Yield the pages of a navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for child in entry.values() if isinstance(entry, dict) else entry:
            yield from iter_pages(child)


def build(navigation: list[dict[str, Any]]) -> None:
    """Build the site; raises CalledProcessError if a link or an anchor is dead."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8")) | {"nav": navigation}
    file = TARGET / "mkdocs.yml"
    file.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--strict", "--config-file", file], check=True, cwd=TARGET)


if __name__ == "__main__":
    raise SystemExit(main())
