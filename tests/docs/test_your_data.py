"""The guides have the words of the page "Your data"."""

import re

import pytest

from tests.support.guide_documents import DOCS
from wattgate.app.server.pages.pages import STATIC_DIRECTORY

TEXTS = (STATIC_DIRECTORY / "your-data" / "texts" / "en.js").read_text()
SECTIONS = {
    "how-to/erase-and-export.md": (r"^## Use the page Your data\n(.*?)^## ", 7),
    "how-to/share-a-home.md": (r"^## See and end the access\n(.*)", 1),
}


@pytest.mark.parametrize("page", SECTIONS)
def test_the_words_of_the_guide_are_on_the_page(page: str) -> None:
    pattern, minimum = SECTIONS[page]
    section = re.search(pattern, (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None
    words = set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", section[1]))
    assert len(words) >= minimum
    assert [word for word in words if f': "{word}"' not in TEXTS] == []
