"""The report on a template: what is wrong with it, before anybody gets it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wattgate.delivery.templates.diagnostics import DoesNotParse, Finding, Part, Severity, TooMuch
from wattgate.delivery.templates.lint import links_in, lint
from wattgate.delivery.templates.output_writer import LIMITS, Limits, nearest, spelt
from wattgate.delivery.templates.plain_text import text_of
from wattgate.delivery.templates.rendering import Draft, Source, draft
from wattgate.delivery.templates.variables import EACH, Variable, made_data, names_in, variables

WARN_BYTES = 80_000
"""Gmail cuts mails at about 102 KB; links that are rewritten for tracking take some of that."""

FAIL_BYTES = 100_000

MAX_SUBJECT = 60
"""Characters of a subject that phones show; a longer one is cut."""

MAX_PREHEADER = 110
"""Characters of a preheader that lists of mails show."""

ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class Report:
    """What a rendering showed. Sizes are bytes of UTF-8; `html_bytes` with its styles inlined."""

    findings: tuple[Finding, ...]
    variables: tuple[Variable, ...]
    html_bytes: int
    text_bytes: int

    @property
    def ok(self) -> bool:
        """Whether nothing stands against sending it."""
        return not any(one.severity is Severity.ERROR for one in self.findings)


@dataclass(frozen=True, slots=True)
class Preview:
    """A template rendered for those who write it: the message as far as it goes, its data, and the report."""

    draft: Draft
    data: Mapping[str, Any]
    report: Report


def preview(source: Source, data: Mapping[str, Any] | None = None, limits: Limits = LIMITS) -> Preview:
    """Render a template with data, or with data made from its variables, and report on it. Nothing is raised."""
    needed = needed_by(source)
    used = made_data(needed) if data is None else data
    drafted = draft(source, used, limits)
    return Preview(drafted, used, _report(source, used, drafted, needed))


def report(source: Source, data: Mapping[str, Any] | None = None, limits: Limits = LIMITS) -> Report:
    """The report on a template with some data, or with data made from its variables."""
    return preview(source, data, limits).report


def needed_by(source: Source) -> list[Variable]:
    """The variables of all parts that parse."""
    found: list[Variable] = []
    for part, written in source.parts():
        try:
            found += variables(written, part)
        except (DoesNotParse, TooMuch):
            continue  # rendering tells what is wrong with it
    return found


def _report(source: Source, data: Mapping[str, Any], drafted: Draft, needed: Sequence[Variable]) -> Report:
    findings = [
        *drafted.findings,
        *_not_needed(drafted.findings, needed, data),
        *_unused(needed, data),
        *_lines(drafted),
        *lint(source.html),
        *_size(drafted),
    ]
    if source.text is not None:
        findings += _parity(drafted)
    findings = _once(findings)
    findings.sort(key=lambda one: (ORDER.index(one.severity), list(Part).index(one.part), one.line or 0))
    sizes = [len((text or "").encode()) for text in (drafted.html, drafted.text)]
    return Report(tuple(findings), tuple(needed), *sizes)


def _once(findings: Iterable[Finding]) -> list[Finding]:
    return list({(one.code, one.part, one.line, one.message): one for one in findings}.values())


def _not_needed(said: Iterable[Finding], needed: Iterable[Variable], data: Mapping[str, Any]) -> list[Finding]:
    """Variables that the data does not have, and that this rendering did without."""
    told = {(one.part, one.line, one.column) for one in said}
    known = {spelt(_plain(path)) for path in names_in(data)}
    found = []
    for one in needed:
        if _has(data, one.path) or (one.part, one.line, one.column) in told:
            continue
        near = nearest(one.name, known)
        severity, code = (Severity.WARNING, "variable-misspelt") if near else (Severity.INFO, "variable-not-in-data")
        hint = f"did you mean {near}?" if near else "this data did without it; other data may not"
        message = f"{one.name} is not in the data"
        found.append(Finding(severity, code, one.part, message, one.line, one.column, hint))
    return found


def _unused(needed: Iterable[Variable], data: Mapping[str, Any]) -> list[Finding]:
    """What the data has and no part names."""
    named = [_plain(one.path) for one in needed]
    found = []
    for path in names_in(data):
        plain = _plain(path)
        if not any(plain[: len(one)] == one or one[: len(plain)] == plain for one in named):
            message = f"{spelt(plain)} is in the data and not in the template"
            found.append(Finding(Severity.INFO, "variable-unused", Part.HTML, message))
    return found


def _lines(drafted: Draft) -> list[Finding]:
    """What is to be said of subject and preheader."""
    found = []
    subject, preheader = drafted.subject, drafted.preheader
    if subject == "":
        message, hint = "the subject is empty", "the name of the alert type is sent instead"
        found.append(Finding(Severity.WARNING, "subject-empty", Part.SUBJECT, message, 1, 1, hint))
    elif subject is not None and len(subject) > MAX_SUBJECT:
        message = f"the subject has {len(subject)} characters"
        hint = f"phones show about {MAX_SUBJECT}"
        found.append(Finding(Severity.WARNING, "subject-long", Part.SUBJECT, message, 1, 1, hint))
    if preheader == "":
        message, hint = "there is no preheader", "lists of mails show the first words of the mail instead"
        found.append(Finding(Severity.INFO, "preheader-empty", Part.PREHEADER, message, None, None, hint))
    elif preheader is not None and len(preheader) > MAX_PREHEADER:
        message = f"the preheader has {len(preheader)} characters"
        hint = f"lists of mails show about {MAX_PREHEADER}"
        found.append(Finding(Severity.WARNING, "preheader-long", Part.PREHEADER, message, 1, 1, hint))
    return found


def _size(drafted: Draft) -> list[Finding]:
    size = len((drafted.html or "").encode())
    if size <= WARN_BYTES:
        return []
    failed = size > FAIL_BYTES
    severity, code = (Severity.ERROR, "too-large") if failed else (Severity.WARNING, "large")
    message = f"with its styles inlined it has {size:,} bytes"
    hint = f"Gmail cuts mails at about 102 KB; {FAIL_BYTES:,} bytes is the most"
    return [Finding(severity, code, Part.HTML, message, None, None, hint)]


def _parity(drafted: Draft) -> list[Finding]:
    """Links and numbers that the HTML tells and the text does not."""
    if drafted.html is None or drafted.text is None:
        return []
    text = drafted.text
    links = [
        address
        for address in dict.fromkeys(links_in(drafted.html))
        if address.removeprefix("mailto:").removeprefix("tel:") not in text and not address.startswith("#")
    ]
    shown = re.sub(r"https?://\S+", " ", text_of(drafted.html))
    known = set(_NUMBER.findall(text))
    numbers = [number for number in dict.fromkeys(_NUMBER.findall(shown)) if number not in known]
    return [
        *(_differs("text-lacks-link", f"the text does not have the link {link}") for link in links),
        *(_differs("text-lacks-number", f"the text does not have the number {number}") for number in numbers),
    ]


def _differs(code: str, message: str) -> Finding:
    return Finding(Severity.WARNING, code, Part.TEXT, message, None, None, "some people read the text alone")


def _plain(path: Iterable[str | int]) -> tuple[str | int, ...]:
    return tuple(one for one in path if one != EACH)


def _has(data: Any, path: Iterable[str | int]) -> bool:
    """Whether some data has what a path leads to; the items of an empty list have everything."""
    at = data
    for segment in path:
        if segment == EACH:
            if not isinstance(at, list) or not at:
                return isinstance(at, list)
            at = at[0]
        elif isinstance(at, Mapping) and segment in at:
            at = at[segment]
        else:
            return False
    return True
