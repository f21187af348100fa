"""How a value is written where it stands, so that it stays a value."""

import html
import re
from urllib.parse import quote

from wattgate.delivery.templates.html_context import At, Reader

LINKS = frozenset(
    (
        "action", "background", "cite", "codebase", "data", "dynsrc", "formaction", "href", "icon", "longdesc",
        "lowsrc", "manifest", "poster", "profile", "src", "usemap", "xlink:href",
    )
)  # fmt: skip
"""Attributes that hold the address of something."""

CLOSED_ATTRIBUTES = frozenset(("classid", "content", "http-equiv", "imagesrcset", "ping", "srcdoc", "srcset", "xmlns"))
"""Attributes whose value is a language of its own; a value there is refused. So is it in `on...`."""

CLOSED_TAGS = frozenset(
    (
        "animate", "animatemotion", "animatetransform", "applet", "base", "embed", "frame", "iframe", "link", "meta",
        "object", "param", "script", "set", "use",
    )
)  # fmt: skip
"""Tags that make a program or another document of their attributes; a value in them is refused."""

SCHEMES = ("https", "http", "mailto", "tel", "sms", "cid")
"""How the address of a link may begin."""

_ADDRESS = re.compile(rf"(?:{'|'.join(SCHEMES)}):|[/?#]", re.IGNORECASE)
_STYLE = re.compile(r"[\w.%#+, -]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_UNSAFE_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f-\xa0\"'<>\\^`{|}\u2028\u2029]")
_ENCODED_WORD = re.compile(r"=\?.*\?=", re.DOTALL)
_IN_HEADER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

NOT_HERE = {
    At.OPENED: "a value must not stand right after <",
    At.TAG_NAME: "a value must not be part of a tag's name",
    At.IN_TAG: "a value must not be an attribute",
    At.ATTRIBUTE_NAME: "a value must not be part of an attribute's name",
    At.AFTER_NAME: "a value must not be an attribute",
    At.BEFORE_VALUE: "a value in an attribute needs quotes around it",
    At.UNQUOTED: "a value in an attribute needs quotes around it",
    At.DECLARATION: "a value must not stand in a declaration",
}


class Refused(ValueError):
    """Why a value must not stand where it would."""


def for_html(value: str, reader: Reader) -> str:
    """A value as it is written where a document ends now. Refused where it must not stand there."""
    value = _CONTROL.sub("", value)
    if reader.at in NOT_HERE:
        raise Refused(NOT_HERE[reader.at])
    if reader.at is At.COMMENT:
        return html.escape(value).replace("-", "&#45;")
    if reader.at is At.RAW:
        return _in_element(value, reader.element)
    if reader.at is At.QUOTED:
        return html.escape(_in_attribute(value, reader))
    return html.escape(value)


def for_subject(value: str) -> str:
    """A value for a header. Refused where it would end the header, or say the end of it in code."""
    if _IN_HEADER.search(value):
        raise Refused("a value in a subject must not hold line breaks or control characters")
    check_header(value)
    return value


def check_header(text: str) -> None:
    """Refused for a text that mail programs decode into another one: an encoded word of RFC 2047."""
    if _IN_HEADER.search(text):
        raise Refused("a header must not hold line breaks or control characters")
    if _ENCODED_WORD.search(text):
        raise Refused("a header must not hold =?...?=, which mail programs decode")


def for_text(value: str) -> str:
    """A value in plain text: without what no text has."""
    return _CONTROL.sub("", value)


def _in_element(value: str, element: str) -> str:
    if element in ("title", "textarea"):
        return html.escape(value)
    if element == "style" and _STYLE.fullmatch(value):
        return value
    raise Refused(
        "a value in a style may hold letters, digits and .%#+,- alone"
        if element == "style"
        else f"a value must not stand in <{element}>"
    )


def _in_attribute(value: str, reader: Reader) -> str:
    name, tag = reader.attribute, reader.tag
    if tag in CLOSED_TAGS:
        raise Refused(f"a value must not stand in <{tag}>")
    if name.startswith("on") or name in CLOSED_ATTRIBUTES:
        raise Refused(f"a value must not stand in the attribute {name}")
    if name == "style":
        if not _STYLE.fullmatch(value):
            raise Refused("a value in a style may hold letters, digits and .%#+,- alone")
        return value
    if name in LINKS:
        return _in_address(value, html.unescape(reader.value).strip())
    return value


def _in_address(value: str, before: str) -> str:
    """A value in the address of a link: whole where it begins the address, else a part of what stands there."""
    if before and _ADDRESS.match(before):
        return quote(value, safe="" if "?" in before or "#" in before else "/@:+,")
    value = value.strip()
    if not value:
        return value
    if not _ADDRESS.match(before + value):
        raise Refused("an address must begin with https:// (or http, mailto, tel, sms, cid)")
    return _UNSAFE_IN_ADDRESS.sub(lambda found: quote(found[0]), value)
