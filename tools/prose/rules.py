"""The words and patterns that public text must not contain, each with the plain replacement."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_SENTENCE_WORDS = 40
"""Hard limit for a sentence in documentation. The target is 25."""

_BE = r"(?:is|are|was|were|be|been|being)"


@dataclass(frozen=True)
class Rule:
    """A banned pattern. `unless` is searched in the text before the match and, if it matches, permits it.

    A rule with `in_names` also applies to the names of functions and classes.
    """

    pattern: re.Pattern[str]
    use: str
    unless: re.Pattern[str] | None = None
    statements_only: bool = False
    in_names: bool = False


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)


def _rule(
    pattern: str, use: str, *, unless: str | None = None, statements_only: bool = False, in_names: bool = False
) -> Rule:
    return Rule(_compile(pattern), use, _compile(unless) if unless else None, statements_only, in_names)


_MADE_BEFORE = (
    r"\b(?:calls?|requests?|decisions?|changes?|choices?|attempts?|cop(?:y|ies)|connections?|payments?|progress|"
    r"comparisons?|measurements?|assumptions?|exceptions?|distinctions?|differences?|corrections?)\b(?: \w+){0,4} $"
)
_WHAT_ALLOWED = r"(?:wrong|missing|possible|next)\b"

RULES: tuple[Rule, ...] = (
    _rule(
        r"\b(?:told|tells?|telling)\b(?!(?: [\w,]+){0,5} apart\b)",
        "'report', 'return', 'publish', 'notify', 'show' or 'state'",
        in_names=True,
    ),
    _rule(r"\bsaid\b", "'stated', 'sent', 'reported' or 'specified'", unless=r"\bthat $", in_names=True),
    _rule(r"\bwho(?:m|so)?ever\b", "'the client that', 'the user who' or 'each module'", in_names=True),
    _rule(r"\b(?:by|of|with|for|to|in|from|at|on|under) whatever\b", "'any' or 'each'"),
    _rule(r"\bwhatever\b[^.;:]*?\bby\b", "'any ... that'"),
    _rule(r"\b(?:those|he|all|one|nobody|many|others|any) who\b", "the noun: 'clients that', 'users who'"),
    _rule(
        r"(?<!because\s)\b(?:of|to|from|by|with|than) who\b", "the noun: 'the caller', 'the user'", statements_only=True
    ),
    _rule(r"^\W*who (?=\w)", "the noun first: 'Users who', 'The client that'", statements_only=True),
    _rule(r"^\W*those (?:of|that|which|in|with|from|by)\b", "the noun instead of 'Those'"),
    _rule(
        r"^\W*what (?!to\b|happens\b|if\b|you (?:need|will|learn|build|see)\b|is (?:new|next)\b)(?=\w)",
        "a noun or a verb first: 'The data that', 'Return'",
        statements_only=True,
    ),
    _rule(
        rf"(?<=\s)what (?:is|was|are|were) (?!{_WHAT_ALLOWED})[\w-]+",
        "a noun: 'the stored readings', not 'what is stored'",
        statements_only=True,
    ),
    _rule(r"(?<=\s)what (?:has|had|have)\b(?! changed\b)", "a noun: 'the sent messages', not 'what has been sent'"),
    _rule(r"\b(?:by|for|from|with|at) what\b(?! to\b)", "the noun: 'the data that'", statements_only=True),
    _rule(
        r"\bgood no (?:more|longer)\b|\bno (?:longer |more )?good\b"
        rf"|\b{_BE} (?:not |still |only )?good (?:for|until|once|only|to|with)\b",
        "'valid' or 'expired'",
    ),
    _rule(
        r"(?<!long-)\b(?:stands?|stood|standing)\b"
        r"(?! (?:for|in for|by|out|alone|charges?|orders?)\b|-(?:alone|by|in|charge)\b)",
        "'is', 'is listed', 'exists' or 'applies'",
    ),
    _rule(r"\b(?:keeps?|kept|keeping) house\b", "'run maintenance'"),
    _rule(r"\bmend(?:s|ed|ing)?\b", "'fix', 'correct' or 'repair'", in_names=True),
    _rule(r"\b(?:gives?|gave|giving|given) way\b", "'is closed', 'is removed' or 'is evicted'"),
    _rule(r"\bone each\b", "'one for each' and the noun"),
    _rule(r"\bthe house\b", "'wattgate', 'the gateway' or 'the home'"),
    _rule(r"\bdoors?\b", "'GraphQL and REST interfaces', 'interface' or 'endpoint'", in_names=True),
    _rule(r"\bwaist\b", "the name of the module"),
    _rule(r"\bhaste\b", "the name of the limit: 'login backoff'", in_names=True),
    _rule(r"\blately\b", "'recently'", in_names=True),
    _rule(r"\bin hand\b", "'pending' or 'in progress'"),
    _rule(r"\b(?:goes|go|went|gone|going) by\b", "'uses', 'depends on' or 'is sent over'"),
    _rule(r"\b(?:comes?|came|coming) to\b(?! (?:rest|mind)\b)", "'amounts to', 'equals' or 'reaches'"),
    _rule(rf"\basked (?:for|of)\b|\basks? of\b|\b{_BE} asked\b(?! (?:to|whether)\b)", "'requested' or 'queried'"),
    _rule(
        rf"\b{_BE} (?:\w+ly |not |never |once |only |also |already )?made\b(?! (?:available|public|up of|to)\b)",
        "'created', 'built' or 'computed'",
        unless=_MADE_BEFORE,
    ),
    _rule(rf"\b(?:{_BE}|stay(?:s|ed|ing)?) (?:still |not )?away\b(?! from\b)", "'unavailable' or 'disconnected'"),
    _rule(
        rf"\b{_BE} (?:not |never |already |only )?held\b|\bheld (?:back|against)\b",
        "'buffered', 'queued', 'stored' or 'compared with'",
        unless=r"\b(?:locks?|leases?|mutex|semaphores?|slots?|transactions?)\b[^.]*$",
    ),
    _rule(
        rf"\b{_BE} (?:not |never |already |only |both )?taken\b"
        r"(?=\s*(?:[.,;:)]|$)|\s+(?:too|if|and|or|while|when|once)\b)",
        "'accepted', 'claimed' or 'in use'",
    ),
)

_ANY = re.compile("|".join(f"(?:{rule.pattern.pattern})" for rule in RULES), re.IGNORECASE)
_NAME_RULES = tuple(rule for rule in RULES if rule.in_names)
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True)
class Match:
    """A match in a sentence: the offsets in it, the matched words and the replacement."""

    start: int
    end: int
    words: str
    use: str


def matches(sentence: str) -> Iterator[Match]:
    """Yield each banned pattern of a sentence, without duplicates at one place."""
    if not _ANY.search(sentence):
        return
    question = sentence.rstrip("\"')*_ \n").endswith("?")
    covered: list[tuple[int, int]] = []
    for rule in RULES:
        if question and rule.statements_only:
            continue
        for found in rule.pattern.finditer(sentence):
            if rule.unless and rule.unless.search(sentence, 0, found.start()):
                continue
            if any(start <= found.start() < end for start, end in covered):
                continue
            covered.append(found.span())
            words = " ".join(found[0].split()).strip("\"'(*_`")
            yield Match(found.start(), found.end(), words, rule.use)


def name_matches(name: str) -> Iterator[Match]:
    """Yield each banned word in the name of a function or class. Names of tests are read as sentences."""
    words = " ".join(part.lower() for part in _NAME_PARTS.findall(name))
    if words.startswith("test "):
        yield from matches(words.removeprefix("test "))
        return
    for rule in _NAME_RULES:
        for found in rule.pattern.finditer(words):
            yield Match(0, len(name), found[0], rule.use)


_WORD = re.compile(r"[^\W_][\w'\u2019./:-]*")


def word_count(sentence: str) -> int:
    """Return the number of words; a code span counts as one."""
    return len(_WORD.findall(sentence))
