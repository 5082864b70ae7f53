"""The words of the server's pages are those in `page_texts.txt`, so that no other change alters them."""

from pathlib import Path

from tests.page_texts import list_page_texts

EXPECTED = Path(__file__).with_name("page_texts.txt")


def test_pages_have_the_words_last_agreed_on() -> None:
    """After an intended change: `python -m tests.page_texts > tests/unit/page_texts.txt`."""
    assert list(list_page_texts()) == EXPECTED.read_text(encoding="utf-8").splitlines()
