"""Conversion of HTML to plain text, for mail programs that show only text, and for push messages."""

import re

from wattgate.delivery.templates.html.html_context import HtmlTokenizer, unescape

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
_BREAKS = re.compile(rf"[ {LINE_BREAK_MARK}{PARAGRAPH_MARK}]+")
_WHITESPACE = re.compile(r"[ \t\r\n\f\u00a0]+")


class _PlainTextWriter(HtmlTokenizer):
    """Collects the text of a document."""

    reads_conditional_comments = False

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.hidden_tags: list[str] = []
        self.link: tuple[str, int] | None = None

    def on_tag(self) -> None:
        attributes = {name: unescape(value) for name, value in self.attributes.items()}
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
            self._close_link()  # links do not nest: the next one ends the one before, as in browsers
            self.link = attributes.get("href", ""), len(self.text)

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
        elif tag == "a":
            self._close_link()

    def _close_link(self) -> None:
        """Write the address of the open link, if there is one, unless it is the visible text."""
        if self.link is None:
            return
        (address, start), self.link = self.link, None
        visible = "".join(self.text[start:]).strip()
        address = address.removeprefix("mailto:").removeprefix("tel:")
        if address and not address.startswith("#") and address != visible:
            self.text.append(f" ({address})" if visible else address)

    def on_text(self, text: str) -> None:
        if not self.hidden_tags:
            decoded = unescape(text).replace(LINE_BREAK_MARK, "").replace(PARAGRAPH_MARK, "")
            self.text.append(_WHITESPACE.sub(" ", decoded))

    def on_raw(self, text: str) -> None:
        if self.element_name == "textarea":
            self.on_text(text)


def html_to_text(document: str) -> str:
    """Return the visible text of a document. Blocks begin a new line, and links are followed by their address."""
    writer = _PlainTextWriter()
    writer.feed(document)
    text = _BREAKS.sub(_join_breaks, "".join(writer.text))
    lines = [_WHITESPACE.sub(" ", line).strip() for line in text.split("\n")]
    return "\n".join(lines).strip()


def _join_breaks(run: re.Match[str]) -> str:
    """Return one break for a run of spaces and marks: that of a paragraph if the run has one."""
    if PARAGRAPH_MARK in run[0]:
        return "\n\n"
    return "\n" if LINE_BREAK_MARK in run[0] else run[0]
