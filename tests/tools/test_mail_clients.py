"""The program that writes what mail clients do not support, from the form of the public data."""

from typing import Any

import generate_mail_clients

FAMILIES = {"gmail": "Gmail", "outlook": "Outlook", "yahoo": "Yahoo! Mail", "hey": "HEY"}


def feature(slug: str, title: str, stats: dict[str, Any], notes: dict[str, str] | None = None) -> dict[str, Any]:
    return {"slug": slug, "title": title, "stats": stats, "notes_by_num": notes}


def figures(*features: dict[str, Any]) -> dict[str, Any]:
    style = feature(
        "html-style",
        "<style> element",
        {"gmail": {"desktop-webmail": {"2019": "y", "2023": "a #1 #6"}, "ios": {"2019": "a #1"}}},
        {"1": "Partial.", "6": "The size is limited to 16 KB"},
    )
    nicenames = {"family": FAMILIES}
    return generate_mail_clients.extract(
        {"last_update_date": "2026-05-13 14:45:41 +0000", "nicenames": nicenames, "data": [style, *features]}
    )


def test_newest_version_of_each_client_counts() -> None:
    stats = {
        "gmail": {"desktop-webmail": {"2019": "y", "2022": "n #1"}, "ios": {"2019": "n"}},
        "outlook": {"windows": {"2016": "n"}, "outlook-com": {"2019": "n", "2024": "y"}, "macos": {"16": "a #2"}},
        "yahoo": {"android": {"2019": "u"}},
        "hey": {"desktop-webmail": {"2020": "n"}},
    }
    extracted = figures(feature("css-float", "float", stats))
    assert extracted["properties"] == {"float": ["Gmail", "Outlook on Windows"]}
    assert (extracted["updated"], extracted["styleBytes"]) == ("2026-05-13", {"Gmail on the web": 16_384})


def test_titles_name_what_a_feature_is_about() -> None:
    stats = {"outlook": {"windows": {"2016": "n"}}}
    titles = {
        "css-at-media": "@media",
        "css-at-media-hover": "@media (hover), @media (any-hover)",
        "css-pseudo-class-lang": "lang()",
        "css-pseudo-element-before": "::before",
        "css-unit-vh": "vh unit",
        "css-unit-calc": "CSS calc() function",
        "css-display-flex": "display:flex",
        "css-gap": "gap, column-gap, row-gap",
        "css-margin-inline-block": "margin-inline & margin-block",
        "css-height": "height property",
        "css-nesting": "CSS Nesting",
        "css-selector-class": "Class selector",
        "html-video": "<video> element",
    }
    extracted = figures(*(feature(slug, title, stats) for slug, title in titles.items()))
    named = {table: list(names) for table, names in extracted.items() if isinstance(names, dict) and names}
    assert named == {
        "styleBytes": ["Gmail on the web"],
        "atRules": ["media"],
        "mediaFeatures": ["any-hover", "hover"],
        "pseudos": ["before", "lang"],
        "units": ["vh"],
        "functions": ["calc"],
        "values": ["display:flex"],
        "properties": ["column-gap", "gap", "height", "margin-block", "margin-inline", "row-gap"],
        "syntax": ["nesting"],
        "elements": ["video"],
    }
