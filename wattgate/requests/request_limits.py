"""Bounds of request bodies that are checked before a body is parsed, and the size that a caller pays for."""

from wattgate.errors import BadInput, TooLarge

MAX_PARAMETERS = 100
"""Maximum parameters in the query of a URL, and members of a form. No operation needs more."""

MAX_ANONYMOUS_BODY_BYTES = 64 * 1024
"""Maximum bytes of a request body without credentials. Forms for log-in and registration need less than one percent."""

MAX_SUBSCRIPTION_BYTES = 64 * 1024
"""Maximum bytes of a request for a subscription, as for messages of WebSockets."""

MAX_BODY_CONTAINERS = 25_000
"""Maximum opening braces and brackets of a JSON body, including those in texts.

An object takes more work than its bytes suggest.
"""

MAX_BODY_COMMAS = 500_000
"""Maximum commas of a JSON body, including those in texts. They bound the number of values."""

FREE_BODY_BYTES = 4 * 1024
"""Bytes of a request that cost nothing besides its operation."""

BYTES_PER_UNIT = 256
"""Bytes of a request that cost one unit, above FREE_BODY_BYTES."""

BODY_MEMORY_BYTES = 64 * 2**20
"""Memory for the bodies of a process that are kept, by default."""

ADDRESS_PART, OWNER_PART = 4, 2
"""The parts of the memory of which one address and one application have one: a quarter, and a half."""

INLINE_BODY_BYTES = 16 * 1024
"""Maximum bytes of a request whose arguments are validated on the event loop. A thread validates others."""


def check_parameters(query: bytes) -> None:
    """Raise BadInput if the query of a URL has more than MAX_PARAMETERS. Nobody pays for the time of its parser."""
    separators = query.count(b"&")
    if separators >= MAX_PARAMETERS:
        raise BadInput(
            f"The query of the URL has {separators + 1:,} parameters; the maximum is {MAX_PARAMETERS}. Send fewer."
        )


def check_anonymous_size(size: int) -> None:
    """Raise TooLarge if a request without credentials has more than MAX_ANONYMOUS_BODY_BYTES."""
    if size > MAX_ANONYMOUS_BODY_BYTES:
        raise TooLarge(
            f"A request without credentials has at most {MAX_ANONYMOUS_BODY_BYTES:,} bytes. Log in to send more."
        )


def check_structure(body: bytes) -> None:
    """Raise TooLarge if a JSON body may have too many values. The work is a scan of the bytes, without parsing them."""
    if len(body) <= min(MAX_BODY_CONTAINERS, MAX_BODY_COMMAS):
        return
    containers = body.count(b"{") + body.count(b"[")
    if containers > MAX_BODY_CONTAINERS:
        raise TooLarge(
            f"The body has {containers:,} lists and objects; the maximum is {MAX_BODY_CONTAINERS:,}. "
            "Send several requests."
        )
    commas = body.count(b",")
    if commas > MAX_BODY_COMMAS:
        raise TooLarge(f"The body has {commas:,} commas; the maximum is {MAX_BODY_COMMAS:,}. Send several requests.")


def check_encoding(content: bytes) -> None:
    """Raise UnicodeDecodeError unless JSON is UTF-8. msgspec does not check the texts that it skips."""
    if not content.isascii():
        content.decode()


ATTEMPT_BYTES = 16 * 1024
"""Bytes without credentials that cost the address one more attempt, above FREE_BODY_BYTES."""


def size_attempts(size: int) -> int:
    """Return the attempts that a request without credentials costs its address for its size, besides the first one."""
    return max(0, size - FREE_BODY_BYTES) // ATTEMPT_BYTES


def size_cost(size: int) -> int:
    """Return the cost of a request for its size in bytes, in units."""
    return max(0, size - FREE_BODY_BYTES) // BYTES_PER_UNIT
