"""Conversion of HTML to plain text, for mail programs that show only text, and for push messages."""

import html
import re

from wattgate.delivery.templates.html_context import HtmlTokenizer

BLOCK_TAGS = frozenset(
    (
        "address", "article", "blockquote", "div", "dl", "dt", "dd", "footer", "form", "h1", "h2", "h3", "h4", "h5",
        "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "tr", "ul",
    )
)  # fmt: skip
"""Elements that begin a new line."""

PARAGRAPH_TAGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "p", "table", "ul", "ol", "blockquote"))
"""Block elements with an empty line before and after."""

HIDDEN_TAGS = frozenset(("head", "script", "style", "title", "template"))
VOID_TAGS = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
LINE_BREAK_MARK, PARAGRAPH_MARK = "\x1e", "\x1f"
"""Marks in the text for the end of a line or a paragraph. Adjacent marks count as one."""

_DISPLAY_NONE = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_PARAGRAPH_BREAKS = re.compile(
    rf"[ {LINE_BREAK_MARK}{PARAGRAPH_MARK}]*{PARAGRAPH_MARK}[ {LINE_BREAK_MARK}{PARAGRAPH_MARK}]*"
)
_LINE_BREAKS = re.compile(rf" *{LINE_BREAK_MARK}[ {LINE_BREAK_MARK}]*")
_WHITESPACE = re.compile(r"[ \t\r\n\f\u00a0]+")


class _PlainTextWriter(HtmlTokenizer):
    """Collects the text of a document."""

    reads_conditional_comments = False

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.hidden_tags: list[str] = []
        self.links: list[tuple[str, int]] = []

    def on_tag(self) -> None:
        attributes = {name: html.unescape(value) for name, value in self.attributes.items()}
        if self.is_end_tag:
            self._write_end_tag(self.tag_name)
        elif self.tag_name in VOID_TAGS:
            self._write_void_tag(self.tag_name, attributes)
        elif self.hidden_tags:
            if self.tag_name == self.hidden_tags[0]:
                self.hidden_tags.append(self.tag_name)
        elif self.tag_name in HIDDEN_TAGS or _DISPLAY_NONE.search(attributes.get("style", "")):
            self.hidden_tags.append(self.tag_name)
        elif self.tag_name in BLOCK_TAGS:
            self.text.append(PARAGRAPH_MARK if self.tag_name in PARAGRAPH_TAGS else LINE_BREAK_MARK)
            self.text.append("- " if self.tag_name == "li" else "")
        elif self.tag_name in ("td", "th"):
            self.text.append(" ")
        elif self.tag_name == "a":
            self.links.append((attributes.get("href", ""), len(self.text)))

    def _write_void_tag(self, tag: str, attributes: dict[str, str]) -> None:
        if self.hidden_tags:
            return
        if tag in ("br", "hr"):
            self.text.append("\n" if tag == "br" else f"{LINE_BREAK_MARK}----{LINE_BREAK_MARK}")
        elif tag == "img" and attributes.get("alt"):
            self.text.append(attributes["alt"])

    def _write_end_tag(self, tag: str) -> None:
        if self.hidden_tags:
            if tag == self.hidden_tags[0]:
                self.hidden_tags.pop()
        elif tag in BLOCK_TAGS:
            self.text.append(PARAGRAPH_MARK if tag in PARAGRAPH_TAGS else LINE_BREAK_MARK)
        elif tag == "a" and self.links:
            address, start = self.links.pop()
            visible = "".join(self.text[start:]).strip()
            address = address.removeprefix("mailto:").removeprefix("tel:")
            if address and not address.startswith("#") and address != visible:
                self.text.append(f" ({address})" if visible else address)

    def on_text(self, text: str) -> None:
        if not self.hidden_tags:
            decoded = html.unescape(text).replace(LINE_BREAK_MARK, "").replace(PARAGRAPH_MARK, "")
            self.text.append(_WHITESPACE.sub(" ", decoded))

    def on_raw(self, text: str) -> None:
        if self.element_name == "textarea":
            self.on_text(text)


def html_to_text(document: str) -> str:
    """Return the visible text of a document. Blocks begin a new line, and links are followed by their address."""
    writer = _PlainTextWriter()
    writer.feed(document)
    text = _PARAGRAPH_BREAKS.sub("\n\n", "".join(writer.text))
    lines = [_WHITESPACE.sub(" ", line).strip() for line in _LINE_BREAKS.sub("\n", text).split("\n")]
    return "\n".join(lines).strip()
