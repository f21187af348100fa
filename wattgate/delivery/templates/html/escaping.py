"""Escaping of values for their position in a document, so that they remain plain values."""

import html
import re
from urllib.parse import quote

from wattgate.delivery.mail_addresses import has_encoded_word
from wattgate.delivery.templates.html.html_context import HtmlState, HtmlTokenizer, unescape

URL_ATTRIBUTES = frozenset(
    (
        "action", "background", "cite", "codebase", "data", "dynsrc", "formaction", "href", "icon", "longdesc",
        "lowsrc", "manifest", "poster", "profile", "src", "usemap", "xlink:href",
    )
)  # fmt: skip
"""Attributes whose value is a URL."""

FORBIDDEN_ATTRIBUTES = frozenset(
    ("classid", "content", "http-equiv", "imagesrcset", "ping", "srcdoc", "srcset", "xmlns")
)
"""Attributes with their own syntax. A template value in them, or in an `on...` attribute, is rejected."""

FORBIDDEN_TAGS = frozenset(
    (
        "animate", "animatemotion", "animatetransform", "applet", "base", "embed", "frame", "iframe", "link", "meta",
        "object", "param", "script", "set", "use",
    )
)  # fmt: skip
"""Elements that run code or load a document. A template value in their attributes is rejected."""

ALLOWED_SCHEMES = ("https", "http", "mailto", "tel", "sms", "cid")
"""Permitted schemes of URLs."""

_URL_START = re.compile(rf"(?:{'|'.join(ALLOWED_SCHEMES)}):|[/?#]", re.IGNORECASE)
_SAFE_STYLE_VALUE = re.compile(r"[\w.%#+, -]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f-\xa0\"'<>\\^`{|}\u2028\u2029]")
_UNSAFE_IN_HEADER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

FORBIDDEN_STATES = {
    HtmlState.TAG_OPEN: "a value must not follow < directly",
    HtmlState.TAG_NAME: "a value must not be part of a tag's name",
    HtmlState.BEFORE_ATTRIBUTE_NAME: "a value must not be an attribute",
    HtmlState.ATTRIBUTE_NAME: "a value must not be part of an attribute's name",
    HtmlState.AFTER_ATTRIBUTE_NAME: "a value must not be an attribute",
    HtmlState.BEFORE_ATTRIBUTE_VALUE: "a value in an attribute needs quotes around it",
    HtmlState.UNQUOTED_VALUE: "a value in an attribute needs quotes around it",
    HtmlState.DECLARATION: "a value must not be inside a declaration",
}


class UnsafeValue(ValueError):
    """A value is not permitted at its position; the message says why."""


def escape_for_html(value: str, tokenizer: HtmlTokenizer) -> str:
    """Return a value escaped for the current end of a document. Raise UnsafeValue if it is not permitted there."""
    value = _CONTROL.sub("", value)
    if tokenizer.state in FORBIDDEN_STATES:
        raise UnsafeValue(FORBIDDEN_STATES[tokenizer.state])
    if tokenizer.state is HtmlState.COMMENT:
        return html.escape(value).replace("-", "&#45;")
    if tokenizer.state is HtmlState.RAW_TEXT:
        return _escape_in_element(value, tokenizer.element_name)
    if tokenizer.state is HtmlState.QUOTED_VALUE:
        return html.escape(_escape_in_attribute(value, tokenizer))
    return html.escape(value)


def check_for_subject(value: str) -> str:
    """Return a value for the subject. Raise UnsafeValue if it has control characters or encoded words."""
    if _UNSAFE_IN_HEADER.search(value):
        raise UnsafeValue("a value in a subject must not contain line breaks or control characters")
    check_header(value)
    return value


def check_header(text: str) -> None:
    """Raise UnsafeValue for control characters, or for encoded words (RFC 2047), which mail programs decode."""
    if _UNSAFE_IN_HEADER.search(text):
        raise UnsafeValue("a header must not contain line breaks or control characters")
    if has_encoded_word(text):
        raise UnsafeValue("a header must not contain =?...?=, because mail programs decode it")


def clean_for_text(value: str) -> str:
    """Return a value for plain text, without control characters."""
    return _CONTROL.sub("", value)


def _escape_in_element(value: str, element: str) -> str:
    if element in ("title", "textarea"):
        return html.escape(value)
    if element == "style" and _SAFE_STYLE_VALUE.fullmatch(value):
        return value
    raise UnsafeValue(
        "a value in a style may only contain letters, digits, spaces and .%#+,-"
        if element == "style"
        else f"a value must not be inside <{element}>"
    )


def _escape_in_attribute(value: str, tokenizer: HtmlTokenizer) -> str:
    name, tag = tokenizer.attribute_name, tokenizer.tag_name
    if tag in FORBIDDEN_TAGS:
        raise UnsafeValue(f"a value must not be inside <{tag}>")
    if name.startswith("on") or name in FORBIDDEN_ATTRIBUTES:
        raise UnsafeValue(f"a value must not be in the attribute {name}")
    if name == "style":
        if not _SAFE_STYLE_VALUE.fullmatch(value):
            raise UnsafeValue("a value in a style may only contain letters, digits, spaces and .%#+,-")
        return value
    if name in URL_ATTRIBUTES:
        return _escape_in_url(value, unescape(tokenizer.attribute_value).strip())
    return value


def _escape_in_url(value: str, before: str) -> str:
    """Escape a value in a URL. `before` is the URL up to the value.

    After the start of a URL, the value is quoted as a part of it. Otherwise the value begins the URL, so its scheme is
    checked.
    """
    if before and _URL_START.match(before):
        return quote(value, safe="" if "?" in before or "#" in before else "/@:+,")
    value = value.strip()
    if not value:
        return value
    if not _URL_START.match(before + value):
        raise UnsafeValue("a URL must begin with https:// (or http, mailto, tel, sms, cid)")
    return _UNSAFE_IN_URL.sub(lambda match: quote(match[0]), value)
