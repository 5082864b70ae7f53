"""The check of the documentation site finds what it is for."""

from pathlib import Path

import pytest
from scripts import site_links

LINK = '<link rel="next" href="other.html">'
PAGE = f'<h1 id="top">Page</h1><a href="other.html#part">other</a><img src="picture.svg">{LINK}'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "other.html").write_text('<p id="part">Part</p><a href="https://example.com/">elsewhere</a>')
    (tmp_path / "picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    return tmp_path


def test_a_sound_site_has_no_problems(site: Path) -> None:
    assert list(site_links.find_problems(site)) == []


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("other.html#part", "gone.html", "index.html: gone.html leads to no file"),
        ("other.html#part", "other.html#gone", "index.html: other.html#gone leads to no anchor"),
        ("other.html#part", "#gone", "index.html: #gone leads to no anchor"),
        ("picture.svg", "gone.svg", "index.html: gone.svg leads to no file"),
        ("picture.svg", "https://example.com/picture.svg", "index.html: loads https://example.com/picture.svg"),
        ("picture.svg", "//example.com/picture.svg", "index.html: loads //example.com/picture.svg"),
    ],
)
def test_a_dead_link_or_a_file_of_another_host_is_reported(site: Path, before: str, after: str, problem: str) -> None:
    (site / "index.html").write_text(PAGE.replace(before, after))
    (found,) = site_links.find_problems(site)
    assert found.startswith(problem)


@pytest.mark.parametrize("rule", ["url(https://example.com/font.woff2)", "url('//example.com/font.woff2')"])
@pytest.mark.parametrize("name", ["style.css", "picture.svg"])
def test_a_font_of_another_host_in_a_style_or_picture_is_reported(site: Path, name: str, rule: str) -> None:
    (site / name).write_text(f"@font-face {{ src: {rule} }}")
    (found,) = site_links.find_problems(site)
    assert found.startswith(f"{name}: loads ") and "example.com/font.woff2" in found
