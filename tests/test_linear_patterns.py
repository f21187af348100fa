"""Regular expressions take linear time for every text, because callers choose many of the texts.

The list `PATTERNS` names all patterns of the package. A new pattern needs a row in it. The test then attacks it
with repeated parts of a text that it matches, which make a pattern that backtracks slow.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from re import _parser as parser
from typing import Any

import pytest

import wattgate
from tests.support.scaling import check_linear

ROOT = Path(wattgate.__file__).parent
NO_CALLERS_TEXT = ("db/migrations/",)
"""Modules whose patterns read names that the gateway itself wrote."""

SIZE = 300

PATTERNS = {
    "app.cli.error_messages": ["_FIELD"],
    "app.application_ids": ["_APPLICATION_ID"],
    "app.env_file": ["_STATEMENT", "_IGNORED"],
    "app.homes.setup": ["_SYMBOLS"],
    "app.setting_checks": ["_FILTER", "_LOOPBACK"],
    "app.observability.logs": ["_REDACTIONS", "_REDACTIONS", "_REDACTIONS", "_REDACTIONS", "_REDACTIONS", "_ID"],
    "app.server.gate.client_addresses": ["HOST", "DEVICE", "SECURE_DEVICE"],
    "app.server.gate.request_heads": ["_HOST"],
    "app.server.pages.page_routes": ["_CODE", "_LINK"],
    "app.server.edge.socket_upgrade": ["_SUBPROTOCOLS", "_CONNECTION"],
    "db.encryption.key_ring": ["KEY_ID_PATTERN"],
    "db.encryption.secret_columns": ["SECRET_NAME"],
    "db.identity.password_rules": ["_ID", "_WORD"],
    "delivery.channels.smtp": ["_ENHANCED_STATUS"],
    "delivery.channels.webhook": ["_SECONDS", "EVENT_PATTERN"],
    "delivery.egress": ["_URL", "_LABEL", "_NUMERIC_LABEL"],
    "delivery.openid.tokens": ["_JWT"],
    "delivery.mail_addresses": ["_ATOM"],
    "delivery.templates.language.cultures": ["_CULTURE"],
    "delivery.templates.language.declarations": ["_PART"],
    "delivery.templates.html.escaping": [
        "_URL_START",
        "_SAFE_STYLE_VALUE",
        "_CONTROL",
        "_UNSAFE_IN_URL",
        "_UNSAFE_IN_HEADER",
    ],
    "delivery.templates.html.html_context": ["_TAG_STARTS", "_NAME_RUN", "_UNQUOTED_RUN", "_LONG_REFERENCE"],
    "delivery.templates.html.mail_clients": ["_PREFIX"],
    "delivery.templates.html.style_sheets": ["_BRACKET"],
    "delivery.templates.language.language": ["_NUMBER"],
    "delivery.templates.lint": ["_MARKER_START", "_LINE_TEXT"],
    "delivery.templates.language.engine": ["_MARKER_START", "_RAW", "_END_RAW"],
    "delivery.templates.language.output_writer": ["SURROGATE", "_WHITESPACE"],
    "delivery.templates.html.plain_text": ["_DISPLAY_NONE", "_BREAKS", "_WHITESPACE"],
    "delivery.templates.report": ["_URL", "_NUMBER"],
    "energy.meters.meter_messages": ["_HEXADECIMAL"],
    "energy.meters.meter_points": [
        "_WHITESPACE",
        "_SEPARATORS",
        "_METER_POINT_NUMBER",
        "_MAC",
        "_EUI",
        "_DIGITS",
        "_SEPARATING",
    ],
    "energy.plain_columns": ["_NUMBERS"],
    "energy.storage_fields": ["_DATATYPE", "_INTERVAL"],
    "energy.costs.tariffs": ["_TIME_OF_DAY"],
    "operations.readings.files.uploaded_files": ["_OPTION", "_REPEATED_RESOURCES"],
    "operations.vocabulary.scalars": ["_CURRENCY_CODE", "_OFFSET"],
    "graphql.execution.documents.document_limits": ["_TOKEN"],
    "graphql.execution.documents.documents": ["_LONG_NAME"],
    "graphql.execution.input_conversion": ["_UNKNOWN_VALUE"],
    "graphql.execution.documents.persisted_documents": ["_CUSTOM_ID"],
    "operations.alerts.alert_rules": ["_TIME_OF_DAY"],
    "operations.readings.meter_messages": ["_FIRST_WORD"],
    "operations.accounts.oauth": ["_S256_CHALLENGE"],
    "operations.personal_data.data_archive": ["_NOT_IN_NAMES"],
    "realtime.apq_store": ["_SHA256_HEX"],
    "realtime.bus": ["_POSITION_PATTERN"],
    "realtime.connections.reconnection": ["_WAITING_REASON"],
    "realtime.redis_url": ["_AUTHORITY_END"],
    "price_sources.answers": ["_DURATION"],
    "price_sources.sources": ["_PLACEHOLDER"],
    "reading_files.cells": [
        "_GROUPED_BY_COMMA",
        "_GROUPED_BY_POINT",
        "_GROUPED_BY_SPACE",
        "_GROUPED_BY_APOSTROPHE",
        "_WHOLE",
        "_LIKE_THOUSANDS",
        "_LIKE_COMMA",
        "_DATE",
        "_COMPACT_DATE",
        "_TIME",
        "_DATE_AND_TIME",
    ],
    "reading_files.inspection": ["_UNIT_IN_NAME", "_UNCLEAR_DATE", "_NO_ENERGY", "_NUMBER"],
    "reading_files.line_reader": ["_SEPARATORS"],
    "reading_files.profiles": ["_INTERVAL"],
    "reading_files.reader": ["_DECLARED_DELIMITER", "_ROUNDED_NUMBER", "_LABEL", "_NUMBER"],
    "requests.request_context": ["_TRACEPARENT"],
    "requests.request_path": ["_SLASHES"],
    "rest_compat.arguments": ["_TIME_AND_OFFSET"],
    "rest_compat.error_responses": ["_VERSION"],
    "rest_compat.openapi.document": ["_PARAMETER", "_WORD"],
    "values.graphql_names": ["_IDENTIFIER"],
}
"""The assigned names of all patterns, by module."""


def test_all_patterns_are_listed() -> None:
    found = {module: names for path in _modules() for module, names in [_patterns_of(path)] if names}
    assert {module: sorted(names) for module, names in found.items()} == {
        module: sorted(names) for module, names in PATTERNS.items()
    }, "add the pattern to PATTERNS, so that its time is tested"


def test_no_pattern_ends_before_a_final_line_break() -> None:
    """`$` also matches before a line break at the end of a text. Use fullmatch, or `\\Z` with search."""
    lenient = [
        f"{module}.{name}: {pattern.pattern}"
        for module, names in PATTERNS.items()
        for name in sorted(set(names))
        for pattern in _compiled(module, name)
        if _has_lenient_end(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    ]
    assert lenient == []
    assert _has_lenient_end(parser.parse(r"a(?:b|(c$))"))
    assert not _has_lenient_end(parser.parse(r"[$]\$\Z"))


def _has_lenient_end(node: Any) -> bool:
    if isinstance(node, parser.SubPattern | list | tuple):
        return any(map(_has_lenient_end, node))
    return node is parser.AT_END


def test_patterns_are_compiled_once_and_have_a_name() -> None:
    inline = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in _modules()
        if "re." in path.read_text()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and _called(node).startswith("re.") and _called(node) != "re.compile"
    ]
    assert inline == [], "assign re.compile(...) to a name, so that the pattern can be listed"


def test_time_is_linear(subtests: pytest.Subtests) -> None:
    for module, names in PATTERNS.items():
        for name in sorted(set(names)):
            methods = _methods(module, name)
            for pattern in _compiled(module, name):
                with subtests.test(f"{module}.{name}", pattern=pattern.pattern):
                    _attack_pattern(pattern, methods)


def test_attacks_find_quadratic_patterns(subtests: pytest.Subtests) -> None:
    sizes = {
        r"<body\b(?:[^>\"]|\"[^\"]*\")*>": SIZE // 3,  # takes long with the full size
        r"=\?.*\?=": SIZE,
        r"[ x]*y[ xy]*": SIZE,
        r"[\w.]+@[\w-]+": SIZE,
    }
    for pattern, size in sizes.items():
        with subtests.test(pattern), pytest.raises(AssertionError, match="times as long"):
            _attack_pattern(re.compile(pattern), ["finditer"], size)


def _attack_pattern(pattern: re.Pattern[str], methods: list[str], size: int = SIZE) -> None:
    attacks = _attacks(pattern.pattern)
    assert attacks
    for prefix, part in attacks:
        for method in methods:
            check_linear(partial(_match_all, pattern, method), partial(_attack, prefix, part), size)


def _modules() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*.py")):
        if not path.relative_to(ROOT).as_posix().startswith(NO_CALLERS_TEXT):
            yield path


def _patterns_of(path: Path) -> tuple[str, list[str]]:
    """Return a module's name and the names that its compiled patterns are assigned to."""
    module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    if "re.compile" not in path.read_text():
        return module, []
    names = [
        ast.unparse(assignment.targets[0] if isinstance(assignment, ast.Assign) else assignment.target)
        for assignment in ast.walk(_tree(path))
        if isinstance(assignment, ast.Assign | ast.AnnAssign) and assignment.value is not None
        for call in ast.walk(assignment.value)
        if isinstance(call, ast.Call) and _called(call) == "re.compile"
    ]
    return module, names


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _called(call: ast.Call) -> str:
    """Return the called expression, such as `re.compile`, if it belongs to the module `re`, or an empty text."""
    owner: ast.expr = call.func
    while isinstance(owner, ast.Attribute | ast.Subscript | ast.Call):
        owner = owner.func if isinstance(owner, ast.Call) else owner.value
    return ast.unparse(call.func) if isinstance(owner, ast.Name) and owner.id == "re" else ""


def _compiled(module: str, name: str) -> Iterator[re.Pattern[str]]:
    """Yield the patterns under a name of a module or of one of its classes."""
    namespace = importlib.import_module(f"wattgate.{module}")
    owners = [namespace, *(value for value in vars(namespace).values() if isinstance(value, type))]
    value = next(getattr(owner, name) for owner in owners if hasattr(owner, name))
    yield from [value] if isinstance(value, re.Pattern) else [row[0] for row in value]


def _attack(prefix: str, part: str, count: int) -> str:
    return prefix + part * count + "\0"


def _match_all(pattern: re.Pattern[str], method: str, text: str) -> None:
    found = getattr(pattern, method)(text)
    if method == "finditer":
        for _ in found:
            pass


def _methods(module: str, name: str) -> list[str]:
    """Return the methods to test: those that the module calls, if it uses the pattern in no other way."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    tree = _tree(path if path.exists() else path.with_suffix("") / "__init__.py")
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name}
    return sorted(used) if used and used <= {"match", "fullmatch"} else ["finditer", "fullmatch"]


def _attacks(pattern: str) -> list[tuple[str, str]]:
    """Return prefixes, and parts to repeat after them: pieces of texts that the pattern matches.

    Of the pieces whose repetition is the same text, only the longest is returned.
    """
    samples = {"".join(_sample(parser.parse(pattern), count)) for count in (1, 2)}
    pieces = {
        (sample[:start] if keeps_prefix else "", sample[start:end])
        for sample in samples
        for start in range(min(len(sample), 12))
        for end in range(start + 1, min(len(sample), start + 12) + 1)
        for keeps_prefix in (False, True)
    }
    by_text: dict[str, tuple[str, str]] = {}
    for prefix, part in sorted(pieces, key=lambda piece: (len(piece[1]), len(piece[0]), piece)):
        # texts that are equal so far are equal for ever, as no prefix or part has more than 12 characters
        by_text[(prefix + 40 * part)[:40]] = (prefix, part)
    return list(by_text.values())


def _sample(nodes: Any, count: int) -> Iterator[str]:
    """Yield the pieces of a text that parsed nodes match, with `count` or more repetitions where that is allowed."""
    for operator, argument in nodes:
        match str(operator):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL" | "ANY":
                yield "b"
            case "IN":
                yield _character(argument)
            case "BRANCH":
                yield from _sample(argument[1][0], count)
            case "SUBPATTERN":
                yield from _sample(argument[3], count)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                fewest, most, repeated = argument
                for _ in range(min(max(int(fewest), count), int(most))):
                    yield from _sample(repeated, count)
            case "AT" | "ASSERT" | "ASSERT_NOT" | "GROUPREF":
                continue
            case unknown:
                raise NotImplementedError(unknown)


CATEGORIES = {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_SPACE": "b"}


def _character(alternatives: Any) -> str:
    """Return a character of a set."""
    kind, argument = alternatives[0]
    if str(kind) == "NEGATE":
        return "b"
    if str(kind) == "RANGE":
        return chr(argument[0])
    return CATEGORIES[str(argument)] if str(kind) == "CATEGORY" else chr(argument)
