"""Collect text from Python source: docstrings, comments, names, messages and descriptions."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from prose.text import Text

ONE_WORD = "one word"
"""The kind of a message that consists of one word. The same text is also of the kind `messages`."""

_STRING_OR_COMMENT = re.compile(
    r"""(?P<triple>\"{3}|'{3})(?:\\.|[^\\])*?(?P=triple)
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
    |(?P<comment>\#[^\n]*)""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(
    r"^#+\s*(?:!|(?:type:\s*ignore(?:\[[^\]]*\])?|noqa(?::\s*[A-Z0-9, ]+)?|fmt:\s*\w+|pragma:)\s*#*)?\s*"
)
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
_LOG_OBJECTS = frozenset({"log", "logger", "_log", "_logger", "logging"})
_METRICS = frozenset({"Counter", "Gauge", "Histogram", "Summary", "Info", "Enum"})
_ERROR_NAME = re.compile(r"(?:Error|Exception|Exit|Parameter|Failure|Refused|Rejected)$")
_DESCRIBING = {"description": "descriptions", "deprecation_reason": "descriptions", "help": "cli", "epilog": "cli"}
_CLASS = re.compile(r"^class (\w+)\(([^()]+)\):", re.M)
_WITHOUT_TEXT = (ast.Name, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.alias, ast.Import)
_NO_PROSE = re.compile(r"^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|COPY|[{<\[])|://\S+$")


def _callee(node: ast.Call) -> tuple[str, str]:
    """Return the object and the name that a call is made on, such as ("log", "info")."""
    target = node.func
    if isinstance(target, ast.Attribute):
        owner = target.value
        if isinstance(owner, ast.Attribute):
            return owner.attr, target.attr
        return (owner.id if isinstance(owner, ast.Name) else ""), target.attr
    return "", target.id if isinstance(target, ast.Name) else ""


def _string(node: ast.AST) -> str | None:
    """Return the text of a string or f-string, with X for each expression in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "X"
            for part in node.values
        )
    return None


class _Collector(ast.NodeVisitor):
    """Visit a module once. `kind` is the kind of the strings in the call that is being visited."""

    def __init__(self, path: str, errors: frozenset[str], *, strings: bool) -> None:
        self.path = path
        self.errors = errors
        self.strings = strings
        self.kind = ""
        self.texts: list[Text] = []

    def _add(self, kind: str, node: ast.expr, value: str) -> None:
        self.texts.append(Text(self.path, node.lineno, kind, value, (node.end_lineno or node.lineno) - node.lineno + 1))

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the children that can contain text. Faster than the standard method, which visits each name too."""
        for field in node._fields:
            value = getattr(node, field, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST) and not isinstance(child, _WITHOUT_TEXT):
                    self.visit(child)

    def _visit_as(self, kind: str, node: ast.AST) -> None:
        before, self.kind = self.kind, kind
        self.visit(node)
        self.kind = before

    def visit_Expr(self, node: ast.Expr) -> None:
        value = _string(node.value)
        if value is not None:
            self._add("docstrings", node.value, value)
        else:
            self.generic_visit(node)

    def _visit_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        kind = "tests" if node.name.startswith("test_") else "names"
        self.texts.append(Text(self.path, node.lineno, kind, node.name))
        first = node.body[0]
        command = any(isinstance(one, ast.Call) and _callee(one)[1] == "command" for one in node.decorator_list)
        if command and isinstance(first, ast.Expr) and (value := _string(first.value)) is not None:
            self._add("cli", first.value, value)
            node.body = node.body[1:]
        self.generic_visit(node)

    visit_FunctionDef = _visit_definition
    visit_AsyncFunctionDef = _visit_definition
    visit_ClassDef = _visit_definition

    def visit_Call(self, node: ast.Call) -> None:
        owner, name = _callee(node)
        kind = ""
        if owner in _LOG_OBJECTS and name in _LOG_METHODS:
            kind = "logs"
        elif name in _METRICS:
            kind = "metrics"
        elif name in self.errors or _ERROR_NAME.search(name):
            kind = "messages"
        elif owner == "re":
            return
        self.visit(node.func)
        for argument in node.args:
            self._visit_as(kind or self.kind, argument)
        for keyword in node.keywords:
            described = _DESCRIBING.get(keyword.arg or "")
            if described and name == "Field":
                described = "settings"
            self._visit_as(described or kind or self.kind, keyword.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            return
        call = node.exc
        if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords and self.strings:
            message = _string(call.args[0])
            if message is not None and re.fullmatch(r"[^\W_]+[.!]?", message):
                self._add(ONE_WORD, call, message)
        self._visit_as("messages", node.exc)

    def _visit_string(self, node: ast.Constant | ast.JoinedStr) -> None:
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    self.visit(part.value)
        value = _string(node)
        if value is None or _NO_PROSE.search(value):
            return
        if self.kind or (self.strings and value.count(" ") >= 2):
            self._add(self.kind or "strings", node, value)

    visit_Constant = _visit_string
    visit_JoinedStr = _visit_string


def error_names(sources: Iterable[str]) -> frozenset[str]:
    """Return the names of the classes that are derived from an exception, in all modules together."""
    bases = {
        found[1]: frozenset(re.findall(r"\w+", found[2])) for source in sources for found in _CLASS.finditer(source)
    }
    names: set[str] = set()
    while more := {
        name
        for name, above in bases.items()
        if name not in names and any(base in names or re.search(r"(?:Error|Exception)$", base) for base in above)
    }:
        names |= more
    return frozenset(names)


def _comments(path: str, source: str) -> Iterator[Text]:
    """Yield comments; those on consecutive lines, alone on their lines, are one text."""
    starts = [0, *(found.end() for found in re.finditer("\n", source))]
    block: list[str] = []
    first = last = 0

    def finished() -> Iterator[Text]:
        if block:
            yield Text(path, first, "comments", "\n".join(block))
            block.clear()

    for found in _STRING_OR_COMMENT.finditer(source):
        comment = found["comment"]
        if comment is None:
            continue
        line = bisect_right(starts, found.start())
        alone = not source[starts[line - 1] : found.start()].strip()
        if not (alone and block and line == last + 1):
            yield from finished()
            first = line
        block.append(_DIRECTIVE.sub("", comment))
        last = line if alone else 0
    yield from finished()


def collect(path: str, source: str, errors: frozenset[str], *, strings: bool) -> list[Text]:
    """Return the texts of a module; with `strings`, also each other string that looks like a sentence."""
    collector = _Collector(path, errors, strings=strings)
    collector.visit(ast.parse(source))
    return [*collector.texts, *_comments(path, source)]
