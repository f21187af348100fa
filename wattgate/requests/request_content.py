"""The content types of request bodies that an interface accepts.

A page of any origin can send a body without a preflight request if its type is one of a form or plain text, or if it
has none. Therefore each interface that takes a body checks the type, and a body without a type is refused. No page can
send a body with GET.
"""

from collections.abc import Collection, Mapping

from wattgate.errors import UnsupportedMediaType

JSON = "application/json"

MAX_SHOWN_CHARACTERS = 100
"""Maximum characters of a wrong header that a message repeats."""

_UTF_8 = ("utf-8", "utf8")


def media_type_of(content_type: str) -> str:
    """Return the media type in a header Content-Type, in lower case and without parameters."""
    return content_type.partition(";")[0].strip().lower()


def announces_body(headers: Mapping[str, str]) -> bool:
    """Return whether a request of HTTP/1.1 has a body. The names of headers are in lower case (RFC 9112, 6.3)."""
    return headers.get("content-length", "0").strip("0 ") != "" or "transfer-encoding" in headers


def check_content(headers: Mapping[str, str], accepted: Collection[str] = (JSON,)) -> None:
    """Raise UnsupportedMediaType unless a body has one of the accepted media types, in UTF-8 and not compressed.

    The names of headers are in lower case.
    """
    content_type = headers.get("content-type", "")
    if content_type != JSON or JSON not in accepted:
        _check_type(content_type, accepted)
    coding = headers.get("content-encoding", "identity")
    if coding != "identity" and coding.strip().lower() != "identity":
        raise UnsupportedMediaType(
            f"The gateway does not decode the content encoding {coding[:MAX_SHOWN_CHARACTERS]!r}. "
            "Send the body without Content-Encoding.",
            accepted=accepted,
        )


def _check_type(content_type: str, accepted: Collection[str]) -> None:
    if media_type_of(content_type) in accepted and _charset_of(content_type) in _UTF_8:
        return
    problem = f"does not accept the content type {content_type[:MAX_SHOWN_CHARACTERS]!r}"
    if not content_type:
        problem = "needs the header Content-Type for a body"
    raise UnsupportedMediaType(f"This path {problem}. Send {' or '.join(accepted)}, in UTF-8.", accepted=accepted)


def _charset_of(content_type: str) -> str:
    """Return the charset of a header in lower case, or UTF-8 without one."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"').lower()
    return "utf-8"
