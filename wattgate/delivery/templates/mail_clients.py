"""What well-known mail programs drop from a mail.

From Can I email (https://www.caniemail.com, data in github.com/hteumeuleu/caniemail, read in November 2026): the
properties that one of the programs with most readers does not show at all.
"""

from collections.abc import Mapping

GMAIL = "Gmail"
OUTLOOK = "Outlook on Windows"
YAHOO = "Yahoo Mail"

DROPPED: Mapping[str, tuple[str, ...]] = {
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
"""Properties, and who drops them."""

DROPPED_VALUES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("display", "flex"): (OUTLOOK,),
    ("display", "inline-flex"): (OUTLOOK, YAHOO),
    ("display", "grid"): (GMAIL, OUTLOOK, YAHOO),
}
"""Values of a property that is shown otherwise."""

CUSTOM_PROPERTIES = (GMAIL, OUTLOOK, YAHOO)
"""Who drops `--name: value`."""

DROPPED_TAGS = frozenset(
    ("script", "iframe", "object", "embed", "applet", "form", "input", "button", "select", "video")
)
"""Elements that mail programs take out, or do not let work."""


def who_drops(name: str, value: str) -> tuple[str, ...]:
    """The mail programs that do not show a declaration."""
    name = name.lower().removeprefix("-webkit-").removeprefix("-moz-")
    if name.startswith("--"):
        return CUSTOM_PROPERTIES
    return DROPPED.get(name) or DROPPED_VALUES.get((name, value.lower().strip())) or ()
