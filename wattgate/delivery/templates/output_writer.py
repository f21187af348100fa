"""What a template writes to: literal text as it is, values as they must be written where they stand."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from typing import Any

from liquid.stringify import to_liquid_string
from liquid.undefined import Undefined

from wattgate.delivery.templates.diagnostics import Finding, Part, Severity, place_of
from wattgate.delivery.templates.escaping import Refused, for_html, for_subject, for_text
from wattgate.delivery.templates.html_context import At, Reader

NEAR = 0.66
"""How alike two names are, by difflib's ratio, where one is told as what the other may have meant."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character, which no text may hold."""

_BLANKS = re.compile(r"[\r\n\t]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rendering may take: seconds, turns of all loops together, characters of output."""

    seconds: float = 1.0
    turns: int = 10_000
    characters: int = 400_000


LIMITS = Limits()


class Beyond(Exception):
    """A rendering took more than it may; the text says what of."""


class Missing(Undefined):
    """A variable that the data does not have; `near` is a name that may have been meant."""

    __slots__ = ("near",)

    def __init__(self, name: str, token: Any, near: str | None) -> None:
        super().__init__(name, token=token)
        self.near = near


class Sink(StringIO):
    """Takes what a template writes: literal text as it is, values as they must be written where they stand."""

    def __init__(self, part: Part, source: str, limits: Limits) -> None:
        super().__init__()
        self.part, self.source, self.limits = part, source, limits
        self.reader = Reader()
        self.findings: list[Finding] = []
        self.room = limits.characters

    def write(self, text: str, /) -> int:
        """Write literal text."""
        if self.part is Part.HTML:
            self.reader.read(text)
        elif self.part is not Part.TEXT:
            text = _BLANKS.sub(" ", text)
        self.room -= len(text)
        if self.room < 0:
            raise Beyond(f"it makes more than {self.limits.characters:,} characters")
        return super().write(text)

    def write_value(self, value: object, token: Any) -> int:
        """Write a value; what must not stand there is left out and told."""
        if isinstance(value, Mapping):
            return self.refuse("a value must be a text or a number; this one has members", token)
        text = SURROGATE.sub("\ufffd", to_liquid_string(value, False))
        try:
            written = self._as_written(text)
        except Refused as error:
            return self.refuse(str(error), token)
        plain_link = self.reader.at is At.QUOTED and self.reader.attribute in ("href", "src") and not self.reader.value
        if self.part is Part.HTML and plain_link and text.strip().lower().startswith("http:"):
            self.note(Severity.WARNING, "link-not-https", f"{text.strip()} is not https", token)
        return self.write(written)

    def _as_written(self, text: str) -> str:
        if self.part is Part.HTML:
            return for_html(text, self.reader)
        return for_subject(text) if self.part is Part.SUBJECT else for_text(text)

    def refuse(self, message: str, token: Any) -> int:
        self.note(Severity.ERROR, "value-refused", message, token)
        return 0

    def miss(self, missing: Missing) -> None:
        """Tell a variable that was needed and not there, once for each place."""
        hint = f"did you mean {missing.near}?" if missing.near else None
        code = "variable-misspelt" if missing.near else "variable-missing"
        self.note(Severity.ERROR, code, f"{missing.name} is not in the data", missing.token, hint)

    def note(self, severity: Severity, code: str, message: str, token: Any, hint: str | None = None) -> None:
        line, column = place_of(self.source, token.start_index)
        finding = Finding(severity, code, self.part, message, line, column, hint)
        if finding not in self.findings:
            self.findings.append(finding)


def nearest(name: str, known: Iterable[object]) -> str | None:
    """The known name that is most like another one, if one is."""
    close = get_close_matches(name, [one for one in known if isinstance(one, str)], 1, NEAR)
    return close[0] if close else None


def spelt(path: Iterable[object]) -> str:
    """A path as a template spells it."""
    first, *rest = path
    return str(first) + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in rest)
