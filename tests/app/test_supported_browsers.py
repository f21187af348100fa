"""The oldest browsers of the pages: what their styles use, and where the pages and the guide name them.

The syntax and the built-in objects of scripts are checked by the target and the lib of tsconfig.json, and by eslint.
"""

import re
from collections.abc import Iterator

import pytest

from wattgate.app.server.pages.login_page import START_NOTICE
from wattgate.app.server.pages.pages import STATIC_DIRECTORY

OLDEST = {"Chrome": 111.0, "Safari": 16.4, "Firefox": 121.0}

VERSIONS = {
    "@container": (105, 16.0, 110),
    ":has": (105, 15.4, 121),
    ":where": (88, 14.0, 78),
    "color-mix()": (111, 16.2, 113),
    "cqb": (105, 16.0, 110),
    "cqi": (105, 16.0, 110),
    "dvh": (108, 15.4, 101),
    "dvw": (108, 15.4, 101),
    "container": (105, 16.0, 110),
    "container-type": (105, 16.0, 110),
    "rotate": (104, 14.1, 72),
    "translate": (104, 14.1, 72),
    "accent-color": (93, 15.4, 92),
    "overscroll-behavior": (63, 16.0, 59),
    "aspect-ratio": (88, 15.0, 89),
}
"""The first versions of Chrome, Safari and Firefox that have a feature, from the compatibility data of MDN."""

OPTIONAL = {
    "content-visibility": "Only the speed of a long page depends on it.",
    "field-sizing": "Without it, a choice is wider than its text.",
    "text-wrap": "Without it, lines of a title differ more in length.",
    "scrollbar-width": "Without it, a bar is as wide as usual.",
    "::highlight": "Only the code editors of the IDE and of templates use it.",
}
"""Features that younger browsers have. The pages work without them."""

KNOWN = {
    *("@font-face", "@keyframes", "@media"),
    *(":after", ":backdrop", ":before", ":placeholder", ":selection"),  # also the second colon of a pseudo-element
    *(":checked", ":disabled", ":empty", ":enabled", ":first-child", ":first-of-type", ":focus", ":focus-visible"),
    *(":focus-within", ":hover", ":is", ":last-child", ":last-of-type", ":not", ":nth-child", ":nth-last-child"),
    *(":placeholder-shown", ":root", ":target"),
    *("attr()", "calc()", "clamp()", "cubic-bezier()", "env()", "format()", "hue-rotate()", "inset()", "invert()"),
    *("linear-gradient()", "max()", "min()", "minmax()", "radial-gradient()", "repeat()"),
    *("repeating-linear-gradient()", "rgb()", "rotate()", "translateX()", "translateY()", "url()", "var()"),
    *("deg", "em", "fr", "ms", "px", "rem", "s", "turn", "vh", "vmin", "vw"),
}
"""At-rules, pseudo-classes, functions and units that all browsers have had since 2020."""

YOUNG_PROPERTIES = {
    *("align-tracks", "anchor-name", "animation-timeline", "field-sizing", "content-visibility", "interpolate-size"),
    *("mask", "offset-path", "position-anchor", "scrollbar-gutter", "text-box", "text-box-trim", "text-spacing-trim"),
    *("text-wrap", "text-wrap-style", "transition-behavior", "view-transition-name", "zoom", "scrollbar-width"),
}
"""Properties of styles that a browser of the guide may lack."""

COMMENTS, TEXTS = re.compile(r"/\*.*?\*/", re.DOTALL), re.compile(r'"[^"]*"|url\([^)]*\)')
AT_RULES, FUNCTIONS = re.compile(r"@[\w-]+"), re.compile(r"(?<![:\w-])[a-zA-Z][\w-]*(?=\()")
PSEUDO_CLASSES, UNITS = re.compile(r"::?[a-z][\w-]*"), re.compile(r"(?<![\w#.-])[+-]?\d*\.?\d+([a-z]+)")
PROPERTIES = re.compile(r"[;{]\s*([a-z][a-z-]*)\s*:(?=[^{]*?[;}])")
NESTED = re.compile(r"&")


def used_features(style: str) -> Iterator[str]:
    """Yield what a style sheet uses: at-rules, pseudo-classes, functions, units, nesting, and its young properties."""
    style = TEXTS.sub("", COMMENTS.sub("", style))
    selectors = " ".join(re.findall(r"[^{};]*(?=\{)", style))
    declarations = " ".join(re.findall(r":[^{};]+(?=[;}])", style))
    yield from AT_RULES.findall(style)
    yield from (name for name in PSEUDO_CLASSES.findall(re.sub(r"@[^{]*|\([\w-]+:[^)]*\)", "", selectors)))
    yield from (f"{name}()" for name in FUNCTIONS.findall(declarations))
    yield from UNITS.findall(declarations)
    yield from NESTED.findall(style)
    yield from (name for name in PROPERTIES.findall(style) if name in YOUNG_PROPERTIES | VERSIONS.keys())


def too_young(style: str) -> set[str]:
    """Return what a style sheet uses that one of the oldest browsers lacks, or that no table names."""
    oldest = tuple(OLDEST.values())
    return {
        name
        for name in used_features(style)
        if name.replace("::", ":") not in KNOWN
        and name not in OPTIONAL
        and not all(first <= own for first, own in zip(VERSIONS.get(name, (999,)), oldest, strict=False))
    }


def test_styles_use_only_what_the_oldest_browsers_have() -> None:
    sheets = sorted(STATIC_DIRECTORY.rglob("*.css"))
    assert len(sheets) > 25
    faults = {sheet.name: young for sheet in sheets if (young := too_young(sheet.read_text()))}
    assert faults == {}
    used = {name for sheet in sheets for name in used_features(sheet.read_text())}
    assert used >= VERSIONS.keys(), "a row of the table that no style uses"


@pytest.mark.parametrize(
    ("style", "feature"),
    [
        ("a { color: light-dark(#fff, #000); }", "light-dark()"),
        ("a { &:hover { color: red; } }", "&"),
        ("@starting-style { a { opacity: 0; } }", "@starting-style"),
        ("a:popover-open { color: red; }", ":popover-open"),
        ("input:user-invalid { color: red; }", ":user-invalid"),
        ("a { width: 3rcap; }", "rcap"),
        ("a { width: round(up, 3px, 2px); }", "round()"),
        ("a { color: red; text-box: trim-both cap alphabetic; }", "text-box"),
        ("a { scrollbar-gutter: stable; }", "scrollbar-gutter"),
    ],
)
def test_a_younger_feature_of_a_style_is_found(style: str, feature: str) -> None:
    assert too_young(style) == {feature}


def test_pages_and_guide_name_the_oldest_browsers() -> None:
    guide = (STATIC_DIRECTORY.parents[2] / "docs" / "how-to" / "wall-display.md").read_text()
    for text in (guide, *START_NOTICE.split("<span")):
        for browser, version in OLDEST.items():
            assert re.search(rf"{browser}[ \w]*?\b{version:g}\b", text.replace("\n", " ")), (browser, text)
