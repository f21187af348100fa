"""Code blocks of Markdown pages."""

import re
from textwrap import dedent


def code_blocks(page: str, language: str) -> list[str]:
    """Return the code of all fenced blocks in a language. A block within a list loses its indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", page, re.MULTILINE | re.DOTALL)
    return [dedent(code) for _, code in found]
