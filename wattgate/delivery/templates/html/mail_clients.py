"""CSS and elements that well-known mail programs drop.

Source: Can I email (https://www.caniemail.com, data in github.com/hteumeuleu/caniemail, read in November 2026). The
tables have the properties that at least one of the most used programs does not support at all.
"""

from collections.abc import Mapping

GMAIL = "Gmail"
OUTLOOK = "Outlook on Windows"
YAHOO = "Yahoo Mail"

UNSUPPORTED_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "animation": (GMAIL, OUTLOOK, YAHOO),
    "background-image": (OUTLOOK,),
    "border-radius": (OUTLOOK,),
    "box-shadow": (GMAIL, OUTLOOK, YAHOO),
    "clip-path": (GMAIL, OUTLOOK, YAHOO),
    "filter": (GMAIL, OUTLOOK, YAHOO),
    "float": (OUTLOOK,),
    "gap": (OUTLOOK, YAHOO),
    "column-gap": (OUTLOOK, YAHOO),
    "row-gap": (OUTLOOK, YAHOO),
    "object-fit": (OUTLOOK, YAHOO),
    "opacity": (OUTLOOK, YAHOO),
    "position": (GMAIL, OUTLOOK),
    "text-shadow": (GMAIL, OUTLOOK),
    "transform": (GMAIL, OUTLOOK, YAHOO),
}
"""The mail programs that drop each property."""

UNSUPPORTED_VALUES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("display", "flex"): (OUTLOOK,),
    ("display", "inline-flex"): (OUTLOOK, YAHOO),
    ("display", "grid"): (GMAIL, OUTLOOK, YAHOO),
}
"""Unsupported values of properties that are supported otherwise."""

CUSTOM_PROPERTIES_UNSUPPORTED_BY = (GMAIL, OUTLOOK, YAHOO)
"""The mail programs that drop `--name: value`."""

UNSUPPORTED_TAGS = frozenset(
    ("script", "iframe", "object", "embed", "applet", "form", "input", "button", "select", "video")
)
"""Elements that mail programs remove or disable."""


def clients_without_support(name: str, value: str) -> tuple[str, ...]:
    """Return the mail programs that do not support a declaration."""
    name = name.lower().removeprefix("-webkit-").removeprefix("-moz-")
    if name.startswith("--"):
        return CUSTOM_PROPERTIES_UNSUPPORTED_BY
    return UNSUPPORTED_PROPERTIES.get(name) or UNSUPPORTED_VALUES.get((name, value.lower().strip())) or ()
