"""The glossary: the names of the GraphQL schema that are not the camel case of a Python name.

Python, the database and REST keep the words of the specification. GraphQL has the words that developers of households
expect. `docs/reference/schema-design.md` has the same table for readers; a test compares them.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from wattgate.enums import to_camel_case

TYPES: Mapping[str, str] = MappingProxyType({})
"""Names of types, without `Connection` and `Edge`, which follow the type of their records."""

NAMES: Mapping[str, str] = MappingProxyType({})
"""Names of fields, arguments and input fields, by their Python names."""

OPERATIONS: Mapping[str, str] = MappingProxyType({})
"""Names of root fields, by the Python names of their operations."""

PHRASES: Mapping[str, str] = MappingProxyType({})
"""Words of descriptions. The first one that matches counts."""

_NAMES_BY_REST_NAME = {to_camel_case(name): graphql_name for name, graphql_name in NAMES.items()}
_WORDS = {
    **_NAMES_BY_REST_NAME,
    **{to_camel_case(name): graphql_name for name, graphql_name in OPERATIONS.items()},
    **PHRASES,
}
_WORD = re.compile(
    "|".join(rf"\b{re.escape(word)}\b" for word in [*PHRASES, *(_WORDS.keys() - PHRASES.keys())]) or "$^"
)


def graphql_name(python_name: str) -> str:
    """Return the GraphQL name of a field, an argument or an input field."""
    return NAMES.get(python_name) or to_camel_case(python_name)


def graphql_type_name(name: str) -> str:
    """Return the GraphQL name of a type."""
    return TYPES.get(name, name)


def graphql_operation_name(python_name: str) -> str:
    """Return the name of the root field of an operation."""
    return OPERATIONS.get(python_name) or to_camel_case(python_name)


def graphql_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the path of a value in GraphQL, for a path with the names of REST."""
    return tuple(_NAMES_BY_REST_NAME.get(part, part) if isinstance(part, str) else part for part in path)


def graphql_text(text: str) -> str:
    """Return a description with the words of GraphQL, for one with the words of the specification."""
    return _WORD.sub(lambda found: _WORDS[found[0]], text)
