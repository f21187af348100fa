"""The text model: pieces of text with their position, split into blocks and sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LIST_ITEM = re.compile(r"^[\s>]*(?:[-*+]|\d+[.)])\s+")
_FENCE = re.compile(r"^[\s>]*(`{3,}|~{3,}|:{3,})\s*(\{[\w-]+\})?")
_PROSE_DIRECTIVES = frozenset({"{note}", "{tip}", "{warning}", "{important}", "{caution}", "{hint}", "{seealso}"})
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)")
_ADDRESS = re.compile(r"<?\bhttps?://[^\s)>\]]+>?")
_HTML = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>\n]*>", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?][\"'”)\]*_]*(?=\s+[\"'“(\[*_]*[A-Z0-9])")


@dataclass(frozen=True)
class Text:
    """A piece of text: its kind, its first line in the file, and whether it is Markdown."""

    path: str
    line: int
    kind: str
    value: str
    lines: int = 1
    """How many lines of the file it covers. A string in several pieces has no line breaks in its value."""

    def line_of(self, offset: int) -> int:
        """Return the line in the file for an offset in the value."""
        return self.line + self.value.count("\n", 0, offset)


@dataclass(frozen=True)
class Sentence:
    """A sentence and its offset in the value of its text."""

    start: int
    value: str


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _word_over_lines(span: str) -> str:
    return "\n".join("X" * len(part) for part in span.split("\n"))


def plain(markdown: str) -> str:
    """Replace code, link targets and markup with fillers of the same length, so that offsets stay right."""
    text = _CODE_SPAN.sub(lambda found: _word_over_lines(found[0]), markdown)
    text = _HTML.sub(_blank, text)
    text = _LINK_TARGET.sub(_blank, text)
    return _ADDRESS.sub(lambda found: "X" * len(found[0]), text)


def _without_code(markdown: str) -> list[str]:
    """Return the lines, with those of code blocks, doctests and front matter emptied."""
    lines = markdown.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found and not fence:
            lines[number] = " " * len(line)
            if found[1].startswith(":") or found[2] in _PROSE_DIRECTIVES:
                continue
            fence = found[1]
        elif fence:
            if found and found[1].startswith(fence) and line.strip(" >") == found[1]:
                fence = ""
            lines[number] = " " * len(line)
        elif line.lstrip().startswith((">>> ", "... ")):
            lines[number] = " " * len(line)
    return lines


def blocks(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph, list item, heading and table cell with its offset."""
    text = plain("\n".join(_without_code(markdown)))
    offset = start = 0
    block: list[str] = []

    def finished() -> Iterator[tuple[int, str]]:
        if block:
            yield start, "\n".join(block)
            block.clear()

    for line in text.split("\n"):
        stripped = line.strip()
        item = _LIST_ITEM.match(line)
        if not stripped or stripped.startswith(("|", "#")) or item:
            yield from finished()
        if stripped.startswith("|"):
            at = offset
            for cell in re.split(r"(?<!\\)\|", line):
                if cell.strip():
                    yield at, cell
                at += len(cell) + 1
        elif stripped.startswith("#"):
            yield offset, line.replace("#", " ")
        elif stripped:
            if not block:
                start = offset
            if item:
                line = " " * item.end() + line[item.end() :]
            block.append(re.sub(r"^(\s*)>", r"\1 ", line))
        offset += len(line) + 1
    yield from finished()


def sentences(markdown: str) -> Iterator[Sentence]:
    """Yield the sentences outside code, with their offsets."""
    for start, block in blocks(markdown):
        begin = 0
        for end in _SENTENCE_END.finditer(block):
            yield Sentence(start + begin, block[begin : end.end()])
            begin = end.end()
        if block[begin:].strip():
            yield Sentence(start + begin, block[begin:])
