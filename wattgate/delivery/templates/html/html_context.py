"""HTML tokenizer that tracks the context at the current end of a document: text, attribute, style and others.

It has the states of the HTML standard's tokenizer (https://html.spec.whatwg.org/multipage/parsing.html), reduced to
those that differ in the values they permit. The content of conditional comments (`<!--[if mso]>`) is read as HTML,
because some mail programs do so.
"""

import html
import re
from enum import Enum, auto


class HtmlState(Enum):
    """The state after the text read so far."""

    TEXT = auto()
    TAG_OPEN = auto()
    TAG_NAME = auto()
    BEFORE_ATTRIBUTE_NAME = auto()
    ATTRIBUTE_NAME = auto()
    AFTER_ATTRIBUTE_NAME = auto()
    BEFORE_ATTRIBUTE_VALUE = auto()
    QUOTED_VALUE = auto()
    UNQUOTED_VALUE = auto()
    COMMENT = auto()
    DECLARATION = auto()
    RAW_TEXT = auto()


RAW_ELEMENTS = frozenset(
    ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext")
)
"""Elements whose content is raw text up to their end tag."""

_WHITESPACE = " \t\n\r\f"
_TAG_STARTS = re.compile(r"/?[a-zA-Z]")
_NAME_RUN = re.compile(r"[^ \t\n\r\f/>=]+")
_UNQUOTED_RUN = re.compile(r"[^ \t\n\r\f>]+")
_LONG_REFERENCE = re.compile(r"&#(?:[0-9]{11,}|[xX][0-9a-fA-F]{11,});?")


def unescape(text: str) -> str:
    """Return a text with its character references decoded. A number of more than 10 digits is no character.

    The standard library raises ValueError for a number of some thousand digits.
    """
    return html.unescape(_LONG_REFERENCE.sub("\ufffd", text))


class HtmlTokenizer:
    """Reads a document in pieces. `position` is the offset of the character that is being read.

    Subclasses override `on_text`, `on_tag` and `on_raw`.
    """

    reads_conditional_comments = True
    """Whether the content of conditional comments is read as HTML, as Outlook does, or skipped as a comment."""

    def __init__(self) -> None:
        self.state = HtmlState.TEXT
        self.tag_name = ""
        self.is_end_tag = False
        self.attribute_name = ""
        self.attribute_value = ""
        self.quote_character = ""
        self.element_name = ""
        self.attributes: dict[str, str] = {}
        self.position = 0
        self.tag_position = 0
        self._pending = ""
        self._comment_start = ""
        self._characters_before = 0

    def feed(self, text: str) -> None:
        """Read the next piece of the document."""
        at = 0
        while at < len(text):
            self.position = self._characters_before + at
            at = self._step(text, at)
        self._characters_before += len(text)

    def on_text(self, text: str) -> None:
        """Handle text, or a part of it. Entities are not decoded."""

    def on_raw(self, text: str) -> None:
        """Handle the raw text of the element `element_name`, or a part of it."""

    def on_tag(self) -> None:
        """Handle a complete tag: `tag_name`, `is_end_tag` and `attributes`, whose values are not decoded."""

    def _step(self, text: str, at: int) -> int:
        """Read one character, or a run of characters without a change of state. Return the position after it."""
        match self.state:
            case HtmlState.TEXT:
                return self._read_text(text, at)
            case HtmlState.QUOTED_VALUE:
                end = text.find(self.quote_character, at)
                self.attribute_value += text[at:] if end < 0 else text[at:end]
                if end < 0:
                    return len(text)
                self._store_attribute(HtmlState.BEFORE_ATTRIBUTE_NAME)
                return end + 1
            case HtmlState.RAW_TEXT:
                return self._read_raw_text(text, at)
            case HtmlState.TAG_OPEN:
                self._pending += text[at]
                self._read_tag_open(self._pending)
            case HtmlState.COMMENT | HtmlState.DECLARATION:
                self._read_comment(text[at])
            case HtmlState.TAG_NAME if run := _NAME_RUN.match(text, at):
                self.tag_name += run[0].lower()
                return run.end()
            case HtmlState.ATTRIBUTE_NAME if run := _NAME_RUN.match(text, at):
                self.attribute_name += run[0].lower()
                return run.end()
            case HtmlState.UNQUOTED_VALUE if run := _UNQUOTED_RUN.match(text, at):
                self.attribute_value += run[0]
                return run.end()
            case _:
                self._read_tag(text[at])
        return at + 1

    def _read_text(self, text: str, at: int) -> int:
        end = text.find("<", at)
        if end != at:
            self.on_text(text[at:] if end < 0 else text[at:end])
        if end < 0:
            return len(text)
        self.state, self._pending, self.tag_position = HtmlState.TAG_OPEN, "", self._characters_before + end
        return end + 1

    def _read_raw_text(self, text: str, at: int) -> int:
        """Read the raw text of an element, up to its end tag."""
        if not self._pending and text[at] != "<":
            end = text.find("<", at)
            end = len(text) if end < 0 else end
            self.on_raw(text[at:end])
            return end
        pending, character = self._pending.lower(), text[at]
        if not pending:
            self.tag_position = self.position
        end_tag = f"</{self.element_name}"
        if pending == end_tag and character in _WHITESPACE + "/>":
            self.state, self.tag_name, self.is_end_tag, self.attributes, self._pending = (
                HtmlState.BEFORE_ATTRIBUTE_NAME,
                self.element_name,
                True,
                {},
                "",
            )
            self._read_tag(character)
        elif end_tag.startswith(pending + character.lower()):
            self._pending += character
        else:
            self.on_raw(self._pending)
            self._pending = ""
            if not pending:
                self.on_raw(character)
                return at + 1
            return at
        return at + 1

    def _read_comment(self, character: str) -> None:
        """Read a character of a comment or a declaration. Keep the first and last three characters of a comment."""
        if character == ">" and self._is_comment_end():
            self.state, self._pending, self._comment_start = HtmlState.TEXT, "", ""
            return
        if len(self._comment_start) < 3:
            self._comment_start += character
        self._pending = (self._pending + character)[-3:]

    def _is_comment_end(self) -> bool:
        if self.state is HtmlState.DECLARATION:
            return True
        closed = (
            self._pending.endswith("--")
            or self._pending == "--!"
            or (self._comment_start == self._pending and self._pending in ("", "-"))
        )
        return closed or (
            self.reads_conditional_comments and self._comment_start == "[if" and self._pending.endswith("]")
        )

    def _read_tag_open(self, pending: str) -> None:
        """Choose the state by the characters after an opening bracket."""
        if _TAG_STARTS.fullmatch(pending):
            self.state, self.is_end_tag, self.tag_name = (
                HtmlState.TAG_NAME,
                pending.startswith("/"),
                pending.removeprefix("/").lower(),
            )
            self.attribute_name, self.attributes = "", {}
        elif pending == "!--":
            self.state, self._pending, self._comment_start = HtmlState.COMMENT, "", ""
        elif pending in ("/", "!", "!-"):
            return
        elif pending[0] in "!?/" and pending != "/>":
            self.state = HtmlState.DECLARATION
            if pending.endswith(">"):
                self.state, self._pending = HtmlState.TEXT, ""
        else:
            is_bracket = pending == "<"
            self.on_text("<" if is_bracket else f"<{pending}")
            self.state, self._pending, self.tag_position = (
                (HtmlState.TAG_OPEN if is_bracket else HtmlState.TEXT),
                "",
                self.position,
            )

    def _read_tag(self, character: str) -> None:
        """Read a character of a tag, outside of a quoted value."""
        if self.state is HtmlState.UNQUOTED_VALUE:
            if character in _WHITESPACE:
                self._store_attribute(HtmlState.BEFORE_ATTRIBUTE_NAME)
            else:
                self._close_tag()
        elif self.state is HtmlState.BEFORE_ATTRIBUTE_VALUE and character in "\"'":
            self.state, self.quote_character = HtmlState.QUOTED_VALUE, character
        elif character == ">":
            self._close_tag()
        elif self.state is HtmlState.BEFORE_ATTRIBUTE_VALUE:
            if character not in _WHITESPACE:
                self.state, self.attribute_value = HtmlState.UNQUOTED_VALUE, character
        else:
            self._read_name(character)

    def _read_name(self, character: str) -> None:
        """Read a character of a tag name or attribute name, or between them."""
        if character == "=" and self.state in (HtmlState.ATTRIBUTE_NAME, HtmlState.AFTER_ATTRIBUTE_NAME):
            self.state, self.attribute_value = HtmlState.BEFORE_ATTRIBUTE_VALUE, ""
        elif character == "/":
            self._store_attribute(HtmlState.BEFORE_ATTRIBUTE_NAME)
        elif character in _WHITESPACE:
            self.state = (
                HtmlState.AFTER_ATTRIBUTE_NAME
                if self.state in (HtmlState.ATTRIBUTE_NAME, HtmlState.AFTER_ATTRIBUTE_NAME)
                else HtmlState.BEFORE_ATTRIBUTE_NAME
            )
        elif self.state is HtmlState.TAG_NAME:  # only "=" gets here; `_step` reads all other characters in runs
            self.tag_name += character
        else:
            self._store_attribute(HtmlState.ATTRIBUTE_NAME)
            self.attribute_name, self.attribute_value = character.lower(), ""

    def _store_attribute(self, next_state: HtmlState) -> None:
        """Store the current attribute, if any. Of several attributes with the same name, the first one counts."""
        if self.attribute_name:
            self.attributes.setdefault(self.attribute_name, self.attribute_value)
        self.state, self.attribute_name = next_state, ""

    def _close_tag(self) -> None:
        self._store_attribute(HtmlState.TEXT)
        self.on_tag()
        if self.tag_name in RAW_ELEMENTS and not self.is_end_tag:
            self.state = HtmlState.RAW_TEXT
        self.element_name, self._pending = self.tag_name, ""
