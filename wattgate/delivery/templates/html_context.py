"""Where in an HTML document a text ends: between tags, in an attribute, in a style. A reader of tables.

It follows the states of the HTML standard's tokenizer (https://html.spec.whatwg.org/multipage/parsing.html), as far
as they differ in what a value there may hold. Conditional comments (`<!--[if mso]>`), whose content mail programs
read as HTML, are read as what they hold.
"""

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
"""Elements whose content is no markup: it ends at their end tag."""

_WHITESPACE = " \t\n\r\f"
_TAG_STARTS = re.compile(r"/?[a-zA-Z]")


class HtmlTokenizer:
    """Reads a document piece by piece; `at` is where the last piece ends.

    What inherits from it is told of text, of tags and of what elements hold that hold no markup.
    """

    reads_conditional_comments = True
    """Whether conditional comments are read as what they hold, as Outlook does, or as comments."""

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
        """Read on."""
        at = 0
        while at < len(text):
            self.position = self._characters_before + at
            at = self._step(text, at)
        self._characters_before += len(text)

    def on_text(self, text: str) -> None:
        """Text, or a part of it; entities are as they are written."""

    def on_raw(self, text: str) -> None:
        """What an element holds that holds no markup, or a part of it; `element` is its name."""

    def on_tag(self) -> None:
        """A tag: `tag` is its name, `ends` whether it is an end tag, `attributes` are as they are written."""

    def _step(self, text: str, at: int) -> int:
        """Read one character, or a run of those that change nothing; the position after it."""
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
        """Read the content of an element that holds no markup, up to its end tag."""
        if not self._pending and text[at] != "<":
            end = text.find("<", at)
            end = len(text) if end < 0 else end
            self.on_raw(text[at:end])
            return end
        held, character = self._pending.lower(), text[at]
        if not held:
            self.tag_position = self.position
        wanted = f"</{self.element_name}"
        if held == wanted and character in _WHITESPACE + "/>":
            self.state, self.tag_name, self.is_end_tag, self.attributes, self._pending = (
                HtmlState.BEFORE_ATTRIBUTE_NAME,
                self.element_name,
                True,
                {},
                "",
            )
            self._read_tag(character)
        elif wanted.startswith(held + character.lower()):
            self._pending += character
        else:
            self.on_raw(self._pending)
            self._pending = ""
            if not held:
                self.on_raw(character)
                return at + 1
            return at
        return at + 1

    def _read_comment(self, character: str) -> None:
        """Read a character of a comment or a declaration. Of a comment, its beginning and its end are held."""
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
        """Decide what follows an opening bracket."""
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
            again = pending == "<"
            self.on_text("<" if again else f"<{pending}")
            self.state, self._pending, self.tag_position = (
                (HtmlState.TAG_OPEN if again else HtmlState.TEXT),
                "",
                self.position,
            )

    def _read_tag(self, character: str) -> None:
        """Read a character of a tag, outside of a quoted value."""
        if self.state is HtmlState.UNQUOTED_VALUE:
            if character in _WHITESPACE:
                self._store_attribute(HtmlState.BEFORE_ATTRIBUTE_NAME)
            elif character == ">":
                self._close_tag()
            else:
                self.attribute_value += character
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
        """Read a character of a tag's or an attribute's name, or what stands between them."""
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
        elif self.state is HtmlState.TAG_NAME:
            self.tag_name += character.lower()
        elif self.state is HtmlState.ATTRIBUTE_NAME:
            self.attribute_name += character.lower()
        else:
            self._store_attribute(HtmlState.ATTRIBUTE_NAME)
            self.attribute_name, self.attribute_value = character.lower(), ""

    def _store_attribute(self, next_state: HtmlState) -> None:
        """Keep the attribute that has been read, if one has; of several with a name, the first holds."""
        if self.attribute_name:
            self.attributes.setdefault(self.attribute_name, self.attribute_value)
        self.state, self.attribute_name = next_state, ""

    def _close_tag(self) -> None:
        self._store_attribute(HtmlState.TEXT)
        self.on_tag()
        if self.tag_name in RAW_ELEMENTS and not self.is_end_tag:
            self.state = HtmlState.RAW_TEXT
        self.element_name, self._pending = self.tag_name, ""
