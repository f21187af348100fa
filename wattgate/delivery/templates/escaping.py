"""How a value is written where it stands, so that it stays a value."""

import html
import re
from urllib.parse import quote

from wattgate.delivery.templates.html_context import HtmlState, HtmlTokenizer

URL_ATTRIBUTES = frozenset(
    (
        "action", "background", "cite", "codebase", "data", "dynsrc", "formaction", "href", "icon", "longdesc",
        "lowsrc", "manifest", "poster", "profile", "src", "usemap", "xlink:href",
    )
)  # fmt: skip
"""Attributes that hold the address of something."""

FORBIDDEN_ATTRIBUTES = frozenset(
    ("classid", "content", "http-equiv", "imagesrcset", "ping", "srcdoc", "srcset", "xmlns")
)
"""Attributes whose value is a language of its own; a value there is refused. So is it in `on...`."""

FORBIDDEN_TAGS = frozenset(
    (
        "animate", "animatemotion", "animatetransform", "applet", "base", "embed", "frame", "iframe", "link", "meta",
        "object", "param", "script", "set", "use",
    )
)  # fmt: skip
"""Tags that make a program or another document of their attributes; a value in them is refused."""

ALLOWED_SCHEMES = ("https", "http", "mailto", "tel", "sms", "cid")
"""How the address of a link may begin."""

_URL_START = re.compile(rf"(?:{'|'.join(ALLOWED_SCHEMES)}):|[/?#]", re.IGNORECASE)
_SAFE_STYLE_VALUE = re.compile(r"[\w.%#+, -]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f-\xa0\"'<>\\^`{|}\u2028\u2029]")
_ENCODED_WORD = re.compile(r"=\?.*\?=", re.DOTALL)
_UNSAFE_IN_HEADER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

FORBIDDEN_STATES = {
    HtmlState.TAG_OPEN: "a value must not stand right after <",
    HtmlState.TAG_NAME: "a value must not be part of a tag's name",
    HtmlState.BEFORE_ATTRIBUTE_NAME: "a value must not be an attribute",
    HtmlState.ATTRIBUTE_NAME: "a value must not be part of an attribute's name",
    HtmlState.AFTER_ATTRIBUTE_NAME: "a value must not be an attribute",
    HtmlState.BEFORE_ATTRIBUTE_VALUE: "a value in an attribute needs quotes around it",
    HtmlState.UNQUOTED_VALUE: "a value in an attribute needs quotes around it",
    HtmlState.DECLARATION: "a value must not stand in a declaration",
}


class UnsafeValue(ValueError):
    """Why a value must not stand where it would."""


def escape_for_html(value: str, tokenizer: HtmlTokenizer) -> str:
    """A value as it is written where a document ends now. Refused where it must not stand there."""
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
    """A value for a header. Refused where it would end the header, or say the end of it in code."""
    if _UNSAFE_IN_HEADER.search(value):
        raise UnsafeValue("a value in a subject must not hold line breaks or control characters")
    check_header(value)
    return value


def check_header(text: str) -> None:
    """Refused for a text that mail programs decode into another one: an encoded word of RFC 2047."""
    if _UNSAFE_IN_HEADER.search(text):
        raise UnsafeValue("a header must not hold line breaks or control characters")
    if _ENCODED_WORD.search(text):
        raise UnsafeValue("a header must not hold =?...?=, which mail programs decode")


def clean_for_text(value: str) -> str:
    """A value in plain text: without what no text has."""
    return _CONTROL.sub("", value)


def _escape_in_element(value: str, element: str) -> str:
    if element in ("title", "textarea"):
        return html.escape(value)
    if element == "style" and _SAFE_STYLE_VALUE.fullmatch(value):
        return value
    raise UnsafeValue(
        "a value in a style may hold letters, digits and .%#+,- alone"
        if element == "style"
        else f"a value must not stand in <{element}>"
    )


def _escape_in_attribute(value: str, tokenizer: HtmlTokenizer) -> str:
    name, tag = tokenizer.attribute_name, tokenizer.tag_name
    if tag in FORBIDDEN_TAGS:
        raise UnsafeValue(f"a value must not stand in <{tag}>")
    if name.startswith("on") or name in FORBIDDEN_ATTRIBUTES:
        raise UnsafeValue(f"a value must not stand in the attribute {name}")
    if name == "style":
        if not _SAFE_STYLE_VALUE.fullmatch(value):
            raise UnsafeValue("a value in a style may hold letters, digits and .%#+,- alone")
        return value
    if name in URL_ATTRIBUTES:
        return _escape_in_url(value, html.unescape(tokenizer.attribute_value).strip())
    return value


def _escape_in_url(value: str, before: str) -> str:
    """A value in the address of a link: whole where it begins the address, else a part of what stands there."""
    if before and _URL_START.match(before):
        return quote(value, safe="" if "?" in before or "#" in before else "/@:+,")
    value = value.strip()
    if not value:
        return value
    if not _URL_START.match(before + value):
        raise UnsafeValue("an address must begin with https:// (or http, mailto, tel, sms, cid)")
    return _UNSAFE_IN_URL.sub(lambda found: quote(found[0]), value)
