"""The size of a document before the parser gets its text: the tokens, counted in one pass, and their price."""

import re

from wattgate.graphql.execution.documents.document_limits import DocumentLimits

FREE_TOKENS = 32
"""Tokens of a new document that cost nothing. To parse and validate so few takes about as long as the request."""

UNITS_PER_TOKEN = 3
"""Cost of each further token of a new document.

The slowest documents within the limits take 72 µs of processor time for each token, most of it for validation.
"""

LONG_TOKENS, LONG_CHARACTERS = 200, 4_096
"""Tokens and characters above which a document is long: a thread parses, validates and compiles it.

For a shorter document, each of these steps holds the event loop for 15 ms at most.
"""

_TOKEN = re.compile(
    r"""
    \# [^\n\r]*+                                                # a comment
    | "{3} (?: [^"\\] | \\"{3} | \\ | "(?!"") )*+ (?: "{3} )?   # a block string, or an unfinished one
    | " (?: [^"\\\n\r] | \\. )*+ "?                             # a string, or an unfinished one
    | [A-Za-z_] [A-Za-z0-9_]*+                                  # a name
    | -?[0-9]++ (?: \.[0-9]++ )? (?: [Ee][+-]?[0-9]++ )?        # a number
    | \.{3}                                                     # a spread
    | [^\s,\ufeff]                                              # a punctuator, or a character that is not allowed
    """,
    re.VERBOSE,
)
"""A token or comment of GraphQL. An unfinished text matches, too: no second attempt starts inside it."""


def count_tokens(text: str) -> int:
    """Return the number of tokens and comments that a parser reads in a text, or more if the text is invalid."""
    return sum(1 for _ in _TOKEN.finditer(text))


def is_long(text: str) -> bool:
    """Return whether a thread parses a document, and not the event loop."""
    return len(text) > LONG_CHARACTERS or (len(text) > LONG_TOKENS and count_tokens(text) > LONG_TOKENS)


def parse_cost(text: str, limits: DocumentLimits) -> int:
    """Return the cost of parsing and validating a document, in units.

    The parser refuses a text above the limit of characters unread, and stops at the limits of tokens and comments.
    """
    if len(text) > limits.characters:
        return 0
    return max(0, min(count_tokens(text), 2 * limits.tokens) - FREE_TOKENS) * UNITS_PER_TOKEN
