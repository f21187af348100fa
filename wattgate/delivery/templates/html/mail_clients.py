"""Figures of mail clients: the parts of CSS and HTML that they do not support.

The figures are in `mail_clients.json`, with their date. `tools/generate_mail_clients.py` writes it from public data.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import msgspec
from tinycss2.ast import Node

from wattgate.delivery.templates.html.style_sheets import PROGRAM_ATTRIBUTES

Clients = tuple[str, ...]

MAX_NAMED_CLIENTS = 4
"""Maximum clients that a message names."""


class ClientFigures(msgspec.Struct, frozen=True, rename="camel"):
    """For each thing by its name, the clients that do not support it.

    `style_bytes` has the maximum size of a style element by client. `syntax` has what no other table can name.
    """

    source: str
    licence: str
    updated: str
    style_bytes: Mapping[str, int]
    at_rules: Mapping[str, Clients]
    media_features: Mapping[str, Clients]
    pseudos: Mapping[str, Clients]
    units: Mapping[str, Clients]
    functions: Mapping[str, Clients]
    values: Mapping[str, Clients]
    properties: Mapping[str, Clients]
    syntax: Mapping[str, Clients]
    elements: Mapping[str, Clients]


FIGURES = msgspec.convert(
    json.loads((files(__package__) / "mail_clients.json").read_text(encoding="utf-8")), ClientFigures
)

_PREFIX = re.compile(r"-(?:webkit|moz|ms)-")


def join_clients(clients: Iterable[str]) -> str:
    """Return the names of clients as a text. Of many, it has the first ones and the number of the others."""
    names = list(clients)
    if len(names) > MAX_NAMED_CLIENTS:
        names[MAX_NAMED_CLIENTS - 1 :] = [f"{len(names) - MAX_NAMED_CLIENTS + 1} others"]
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def clients_without_declaration(name: str, value: str, tokens: Iterable[Node]) -> Clients:
    """Return the clients that do not support a property, or this value of it. `tokens` are those of the value."""
    name = _PREFIX.sub("", name.lower(), count=1)
    if name.startswith("--"):
        return FIGURES.syntax["variables"]
    known = FIGURES.properties.get(name) or FIGURES.values.get(f"{name}:{value.lower().strip()}")
    return known or next(_clients_without_tokens(tokens), ())


def _clients_without_tokens(tokens: Iterable[Node]) -> Iterator[Clients]:
    """Yield the clients that do not support a function or a unit of a value."""
    for token in tokens:
        if token.type == "function":
            name = _PREFIX.sub("", token.lower_name, count=1)
            yield from filter(None, (FIGURES.syntax["variables"] if name == "var" else FIGURES.functions.get(name),))
            yield from _clients_without_tokens(token.arguments)
        elif token.type == "dimension":
            yield from filter(None, (FIGURES.units.get(token.lower_unit),))


def unsupported_selector_parts(selector: Iterable[Node]) -> Iterator[tuple[str, Clients]]:
    """Yield each part of a selector that some clients do not support, with these clients."""
    before: Any = None
    for node in selector:
        if before == ":":
            name = str(getattr(node, "lower_value", "") or getattr(node, "lower_name", ""))
            if clients := FIGURES.pseudos.get(name):
                yield f":{name}", clients
        before = node
        if node.type == "[] block" and not _names_program(node):
            yield "[]", FIGURES.syntax["attribute"]


def _names_program(attribute: Node) -> bool:
    """Return whether an attribute selector is for one program: the author knows that others ignore it."""
    return any(getattr(part, "value", None) in PROGRAM_ATTRIBUTES for part in attribute.content)


def unsupported_at_rule_parts(keyword: str, prelude: Iterable[Node]) -> Iterator[tuple[str, Clients]]:
    """Yield an at-rule, and each feature of its media query, that some clients do not support."""
    name = _PREFIX.sub("", keyword.lower(), count=1)
    features = [
        (f"({node.content[0].lower_value})", FIGURES.media_features.get(node.content[0].lower_value))
        for node in prelude
        if node.type == "() block" and node.content and node.content[0].type == "ident"
    ]
    specific = [(feature, clients) for feature, clients in features if clients]
    if specific:
        yield from ((f"@{name} {feature}", clients) for feature, clients in specific)
    elif clients := FIGURES.at_rules.get(name):
        yield f"@{name}", clients
