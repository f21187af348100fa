"""Collect text from files that are not Python: the GraphQL schema, pages, scripts, styles and configuration."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from graphql import DirectiveNode, StringValueNode, Visitor, parse, visit

from prose.text import Text

_ATTRIBUTES = frozenset({"title", "alt", "aria-label", "aria-description", "placeholder", "content", "label"})
_JS_TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)
    |(?<=[=(,:\[!&|?{};\n])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*""",
    re.VERBOSE | re.DOTALL,
)
_JS_NAME = re.compile(
    r"\b(?:function\*?|class)\s+(\w+)|^\s*(?:export\s+)?(?:static\s+|async\s+)*(#?\w+)\([^()]*\)\s*\{$", re.M
)
_JS_KEYWORDS = frozenset({"if", "for", "while", "switch", "catch", "function", "return", "constructor"})
_COMMENT_MARKS = re.compile(r"^[ \t]*(?:/\*+|\*/|\*(?!/)|//+)|\*/\s*$", re.M)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_COMMENT = r"(?:^|(?<=\s))(\#(?!!)[^\n]*)"
_CONFIGURATION = re.compile(rf"""{_COMMENT}|"([^"\n]* [^"\n]* [^"\n]*)\"""", re.M)
_YAML = re.compile(rf"""{_COMMENT}|^[ \t]*(?:-[ \t]+)?(?:[\w.-]+:[ \t]+)?([^\#\n]* [^\#\n]* [^\#\n]*)$""", re.M)
"""In YAML most texts have no quotes: a value, or a line of a block, with more than two words."""


def _line(source: str, offset: int) -> int:
    return source.count("\n", 0, offset) + 1


def _spaces(found: re.Match[str]) -> str:
    return " " * len(found[0])


class _SchemaTexts(Visitor):
    """Collect each description and each argument of a directive, such as the reason of a deprecation."""

    def __init__(self, path: str, source: str) -> None:
        super().__init__()
        self.path = path
        self.source = source
        self.texts: list[Text] = []

    def enter_string_value(self, node: StringValueNode, *_: object) -> None:
        assert node.loc is not None
        raw = self.source[node.loc.start : node.loc.end]
        value = re.sub(r'^"+|"+$', _spaces, raw)
        self.texts.append(Text(self.path, _line(self.source, node.loc.start), "schema", value))

    def enter_directive(self, node: DirectiveNode, *_: object) -> None:
        """Directives are visited as other nodes are; only `specifiedBy` has an address instead of prose."""


def schema(path: str, source: str) -> list[Text]:
    """Return the descriptions and deprecation reasons of a GraphQL schema."""
    collector = _SchemaTexts(path, source)
    visit(parse(source), collector)
    return collector.texts


class _PageTexts(HTMLParser):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.texts: list[Text] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "style", "code", "pre"}:
            self._hidden = tag
        for name, value in attributes:
            if name in _ATTRIBUTES and value:
                self.texts.append(Text(self.path, self.getpos()[0], "pages", value))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.texts.append(Text(self.path, self.getpos()[0], "pages", data))

    def handle_comment(self, data: str) -> None:
        self.texts.append(Text(self.path, self.getpos()[0], "comments", data))


def page(path: str, source: str) -> list[Text]:
    """Return the text nodes, the readable attributes and the comments of an HTML page."""
    collector = _PageTexts(path)
    collector.feed(source)
    collector.close()
    return collector.texts


def _script_comments(path: str, comments: list[tuple[int, int, str]], source: str) -> Iterator[Text]:
    """Yield comments; line comments that follow each other with nothing between them are one text."""
    block = ""
    begin = end = 0
    for start, stop, value in comments:
        if block and not value.startswith("/*") and not source[end:start].strip():
            block += source[end:start] + value
        else:
            if block:
                yield Text(path, _line(source, begin), "comments", _COMMENT_MARKS.sub(_spaces, block))
            begin, block = start, value
        end = stop
    if block:
        yield Text(path, _line(source, begin), "comments", _COMMENT_MARKS.sub(_spaces, block))


def script(path: str, source: str) -> list[Text]:
    """Return the comments, the names of functions and the strings that look like sentences of a JavaScript module."""
    texts: list[Text] = []
    comments: list[tuple[int, int, str]] = []
    for found in _JS_TOKEN.finditer(source):
        if found["comment"]:
            comments.append((found.start(), found.end(), found["comment"]))
        elif found["string"]:
            value = re.sub(r"\$\{[^}]*\}", lambda one: "X" * len(one[0]), found["string"][1:-1])
            if value.count(" ") >= 1 and re.search(r"[a-z]{2}", value):
                texts.append(Text(path, _line(source, found.start()), "pages", value))
    for found in _JS_NAME.finditer(source):
        name = found[1] or found[2]
        if name not in _JS_KEYWORDS:
            texts.append(Text(path, _line(source, found.start(found.lastindex or 0)), "names", name))
    return [*texts, *_script_comments(path, comments, source)]


def style(path: str, source: str) -> list[Text]:
    """Return the comments of a style sheet."""
    return [
        Text(path, _line(source, found.start()), "comments", _COMMENT_MARKS.sub(_spaces, found[0]))
        for found in _CSS_COMMENT.finditer(source)
    ]


def configuration(path: str, source: str) -> list[Text]:
    """Return the comments and sentences of a Makefile, a shell script, TOML or YAML."""
    texts = []
    pattern = _YAML if path.endswith((".yml", ".yaml")) else _CONFIGURATION
    for found in pattern.finditer(source):
        value = found[found.lastindex or 0].lstrip("# ")
        texts.append(Text(path, _line(source, found.start(found.lastindex or 0)), "configuration", value))
    return texts
