"""Plain text from HTML, for mail programs that show nothing else, and for push messages."""

import html
import re

from wattgate.delivery.templates.html_context import Reader

BLOCKS = frozenset(
    (
        "address", "article", "blockquote", "div", "dl", "dt", "dd", "footer", "form", "h1", "h2", "h3", "h4", "h5",
        "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "tr", "ul",
    )
)  # fmt: skip
"""Elements that stand on lines of their own."""

APART = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "p", "table", "ul", "ol", "blockquote"))
"""Of those, the ones with an empty line around them."""

HIDDEN = frozenset(("head", "script", "style", "title", "template"))
VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
LINE, GAP = "\x1e", "\x1f"
"""Stand in the text where a line, or a paragraph, ends; several at one place are one."""

_NOT_SHOWN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_GAPS = re.compile(rf"[ {LINE}{GAP}]*{GAP}[ {LINE}{GAP}]*")
_LINES = re.compile(rf" *{LINE}[ {LINE}]*")
_BLANKS = re.compile(r"[ \t\r\n\f\u00a0]+")


class _Writer(Reader):
    """Writes the text of a document as it is read."""

    conditional = False

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.hidden: list[str] = []
        self.links: list[tuple[str, int]] = []

    def on_tag(self) -> None:
        given = {name: html.unescape(value) for name, value in self.attributes.items()}
        if self.ends:
            self._end(self.tag)
        elif self.tag in VOID:
            self._void(self.tag, given)
        elif self.hidden:
            if self.tag == self.hidden[0]:
                self.hidden.append(self.tag)
        elif self.tag in HIDDEN or _NOT_SHOWN.search(given.get("style", "")):
            self.hidden.append(self.tag)
        elif self.tag in BLOCKS:
            self.text.append(GAP if self.tag in APART else LINE)
            self.text.append("- " if self.tag == "li" else "")
        elif self.tag in ("td", "th"):
            self.text.append(" ")
        elif self.tag == "a":
            self.links.append((given.get("href", ""), len(self.text)))

    def _void(self, tag: str, given: dict[str, str]) -> None:
        if self.hidden:
            return
        if tag in ("br", "hr"):
            self.text.append("\n" if tag == "br" else f"{LINE}----{LINE}")
        elif tag == "img" and given.get("alt"):
            self.text.append(given["alt"])

    def _end(self, tag: str) -> None:
        if self.hidden:
            if tag == self.hidden[0]:
                self.hidden.pop()
        elif tag in BLOCKS:
            self.text.append(GAP if tag in APART else LINE)
        elif tag == "a" and self.links:
            address, begins = self.links.pop()
            shown = "".join(self.text[begins:]).strip()
            address = address.removeprefix("mailto:").removeprefix("tel:")
            if address and not address.startswith("#") and address != shown:
                self.text.append(f" ({address})" if shown else address)

    def on_text(self, text: str) -> None:
        if not self.hidden:
            said = html.unescape(text).replace(LINE, "").replace(GAP, "")
            self.text.append(_BLANKS.sub(" ", said))

    def on_raw(self, text: str) -> None:
        if self.element == "textarea":
            self.on_text(text)


def text_of(document: str) -> str:
    """The text that a document shows: blocks on lines of their own, links with their address behind them."""
    writer = _Writer()
    writer.read(document)
    text = _GAPS.sub("\n\n", "".join(writer.text))
    lines = [_BLANKS.sub(" ", line).strip() for line in _LINES.sub("\n", text).split("\n")]
    return "\n".join(lines).strip()
