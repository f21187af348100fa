"""Where in an HTML document a text ends: between tags, in an attribute, in a style. A reader of tables.

It follows the states of the HTML standard's tokenizer (https://html.spec.whatwg.org/multipage/parsing.html), as far
as they differ in what a value there may hold. Conditional comments (`<!--[if mso]>`), whose content mail programs
read as HTML, are read as what they hold.
"""

import re
from enum import Enum, auto


class At(Enum):
    """The state after the text read so far."""

    TEXT = auto()
    OPENED = auto()
    TAG_NAME = auto()
    IN_TAG = auto()
    ATTRIBUTE_NAME = auto()
    AFTER_NAME = auto()
    BEFORE_VALUE = auto()
    QUOTED = auto()
    UNQUOTED = auto()
    COMMENT = auto()
    DECLARATION = auto()
    RAW = auto()


RAW_ELEMENTS = frozenset(
    ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext")
)
"""Elements whose content is no markup: it ends at their end tag."""

_BLANK = " \t\n\r\f"
_TAG_STARTS = re.compile(r"/?[a-zA-Z]")


class Reader:
    """Reads a document piece by piece; `at` is where the last piece ends.

    What inherits from it is told of text, of tags and of what elements hold that hold no markup.
    """

    conditional = True
    """Whether conditional comments are read as what they hold, as Outlook does, or as comments."""

    def __init__(self) -> None:
        self.at = At.TEXT
        self.tag = ""
        self.ends = False
        self.attribute = ""
        self.value = ""
        self.quote = ""
        self.element = ""
        self.attributes: dict[str, str] = {}
        self.position = 0
        self.tag_position = 0
        self._held = ""
        self._begun = ""
        self._before = 0

    def read(self, text: str) -> None:
        """Read on."""
        at = 0
        while at < len(text):
            self.position = self._before + at
            at = self._step(text, at)
        self._before += len(text)

    def on_text(self, text: str) -> None:
        """Text, or a part of it; entities are as they are written."""

    def on_raw(self, text: str) -> None:
        """What an element holds that holds no markup, or a part of it; `element` is its name."""

    def on_tag(self) -> None:
        """A tag: `tag` is its name, `ends` whether it is an end tag, `attributes` are as they are written."""

    def _step(self, text: str, at: int) -> int:
        """Read one character, or a run of those that change nothing; the position after it."""
        match self.at:
            case At.TEXT:
                return self._text(text, at)
            case At.QUOTED:
                end = text.find(self.quote, at)
                self.value += text[at:] if end < 0 else text[at:end]
                if end < 0:
                    return len(text)
                self._keep(At.IN_TAG)
                return end + 1
            case At.RAW:
                return self._raw(text, at)
            case At.OPENED:
                self._held += text[at]
                self._opened(self._held)
            case At.COMMENT | At.DECLARATION:
                self._comment(text[at])
            case _:
                self._in_tag(text[at])
        return at + 1

    def _text(self, text: str, at: int) -> int:
        end = text.find("<", at)
        if end != at:
            self.on_text(text[at:] if end < 0 else text[at:end])
        if end < 0:
            return len(text)
        self.at, self._held, self.tag_position = At.OPENED, "", self._before + end
        return end + 1

    def _raw(self, text: str, at: int) -> int:
        """Read the content of an element that holds no markup, up to its end tag."""
        if not self._held and text[at] != "<":
            end = text.find("<", at)
            end = len(text) if end < 0 else end
            self.on_raw(text[at:end])
            return end
        held, character = self._held.lower(), text[at]
        if not held:
            self.tag_position = self.position
        wanted = f"</{self.element}"
        if held == wanted and character in _BLANK + "/>":
            self.at, self.tag, self.ends, self.attributes, self._held = At.IN_TAG, self.element, True, {}, ""
            self._in_tag(character)
        elif wanted.startswith(held + character.lower()):
            self._held += character
        else:
            self.on_raw(self._held)
            self._held = ""
            if not held:
                self.on_raw(character)
                return at + 1
            return at
        return at + 1

    def _comment(self, character: str) -> None:
        """Read a character of a comment or a declaration. Of a comment, its beginning and its end are held."""
        if character == ">" and self._ends_here():
            self.at, self._held, self._begun = At.TEXT, "", ""
            return
        if len(self._begun) < 3:
            self._begun += character
        self._held = (self._held + character)[-3:]

    def _ends_here(self) -> bool:
        if self.at is At.DECLARATION:
            return True
        closed = (
            self._held.endswith("--") or self._held == "--!" or (self._begun == self._held and self._held in ("", "-"))
        )
        return closed or (self.conditional and self._begun == "[if" and self._held.endswith("]"))

    def _opened(self, held: str) -> None:
        """Decide what follows an opening bracket."""
        if _TAG_STARTS.fullmatch(held):
            self.at, self.ends, self.tag = At.TAG_NAME, held.startswith("/"), held.removeprefix("/").lower()
            self.attribute, self.attributes = "", {}
        elif held == "!--":
            self.at, self._held, self._begun = At.COMMENT, "", ""
        elif held in ("/", "!", "!-"):
            return
        elif held[0] in "!?/" and held != "/>":
            self.at = At.DECLARATION
            if held.endswith(">"):
                self.at, self._held = At.TEXT, ""
        else:
            again = held == "<"
            self.on_text("<" if again else f"<{held}")
            self.at, self._held, self.tag_position = (At.OPENED if again else At.TEXT), "", self.position

    def _in_tag(self, character: str) -> None:
        """Read a character of a tag, outside of a quoted value."""
        if self.at is At.UNQUOTED:
            if character in _BLANK:
                self._keep(At.IN_TAG)
            elif character == ">":
                self._close()
            else:
                self.value += character
        elif self.at is At.BEFORE_VALUE and character in "\"'":
            self.at, self.quote = At.QUOTED, character
        elif character == ">":
            self._close()
        elif self.at is At.BEFORE_VALUE:
            if character not in _BLANK:
                self.at, self.value = At.UNQUOTED, character
        else:
            self._name(character)

    def _name(self, character: str) -> None:
        """Read a character of a tag's or an attribute's name, or what stands between them."""
        if character == "=" and self.at in (At.ATTRIBUTE_NAME, At.AFTER_NAME):
            self.at, self.value = At.BEFORE_VALUE, ""
        elif character == "/":
            self._keep(At.IN_TAG)
        elif character in _BLANK:
            self.at = At.AFTER_NAME if self.at in (At.ATTRIBUTE_NAME, At.AFTER_NAME) else At.IN_TAG
        elif self.at is At.TAG_NAME:
            self.tag += character.lower()
        elif self.at is At.ATTRIBUTE_NAME:
            self.attribute += character.lower()
        else:
            self._keep(At.ATTRIBUTE_NAME)
            self.attribute, self.value = character.lower(), ""

    def _keep(self, then: At) -> None:
        """Keep the attribute that has been read, if one has; of several with a name, the first holds."""
        if self.attribute:
            self.attributes.setdefault(self.attribute, self.value)
        self.at, self.attribute = then, ""

    def _close(self) -> None:
        self._keep(At.TEXT)
        self.on_tag()
        if self.tag in RAW_ELEMENTS and not self.ends:
            self.at = At.RAW
        self.element, self._held = self.tag, ""
