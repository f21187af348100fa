"""The lines of a table of homes: CSV with a header, or one JSON object in each line."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO

import orjson

from wattgate.app.homes.request import HomeOptions
from wattgate.app.input_parser import decode_object
from wattgate.errors import BadInput
from wattgate.reading_files.cells import InvalidLine
from wattgate.reading_files.line_reader import read_numbered_lines
from wattgate.values.terms import MAX_NAME_CHARACTERS

DEFAULT_HOME_NAME = "Home"

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "user": "user",
        "person": "person",
        "name": "name",
        "timeZone": "time_zone",
        "electricity": "electricity",
        "gas": "gas",
        "export": "export",
        "live": "live",
        "unitRate": "unit_rate",
        "standingCharge": "standing_charge",
        "tariffs": "tariffs",
        "currency": "currency",
        "culture": "culture",
        "device": "device",
        "deviceType": "device_type",
    }
)
"""The attribute of each column. `tariffs` is a member of JSON lines only: a list of tariffs."""

REQUIRED = ("user", "electricity")

_DELIMITERS = ",;\t"
_SPACES = str.maketrans("", "", " -_")
_BY_SPELLING = {name.lower(): name for name in COLUMNS if name != "tariffs"}
_BOOLEANS: Mapping[str, bool] = {
    "": False,
    "false": False,
    "no": False,
    "0": False,
    "true": True,
    "yes": True,
    "1": True,
}


@dataclass(frozen=True, slots=True)
class HomeDefaults:
    """The values of columns that a line leaves empty."""

    time_zone: str | None = None
    culture: str | None = None


@dataclass(frozen=True, slots=True)
class HomeLine:
    """A line of the table: the options of its home, and the hardware ID and the type of a device, or None."""

    options: HomeOptions
    device: str | None = None
    device_type: str | None = None


def read_lines(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | InvalidLine]]:
    """Yield the number and the values of each line that is not blank, or why it has none.

    A file whose first character is `{` has a JSON object in each line. Any other one is CSV with a header, and a comma,
    a semicolon or a tab between cells. Raise BadInput for a header with an unknown, repeated or missing column.
    """
    header: list[str] | None = None
    delimiter = ""
    for position, (number, text) in enumerate(read_numbered_lines(file)):
        if position == 0 and not text.lstrip().startswith("{"):
            delimiter = max(_DELIMITERS, key=text.count)
            header = _parse_header(text, delimiter)
            continue
        try:
            yield number, decode_object(text) if header is None else _parse_cells(text, delimiter, header)
        except InvalidLine as error:
            yield number, error


def _parse_header(text: str, delimiter: str) -> list[str]:
    """Return the names of the columns. Case, spaces, hyphens and underscores do not matter."""
    try:
        cells = _split(text, delimiter)
    except InvalidLine as error:
        raise BadInput(f"The header of the table {error}.") from None
    names = [_BY_SPELLING.get(cell.strip().translate(_SPACES).lower()) for cell in cells]
    known = [name for name in names if name is not None]
    unknown = [cell for cell, name in zip(cells, names, strict=True) if name is None]
    problems = [f"unknown column {cell!r}" for cell in unknown]
    problems += [
        f"the column {name} is there twice" for name in sorted({name for name in known if known.count(name) > 1})
    ]
    problems += [f"the column {name} is missing" for name in REQUIRED if name not in known]
    if problems:
        allowed = ", ".join(_BY_SPELLING.values())
        raise BadInput(f"Invalid header of the table: {'; '.join(problems)}. The columns are: {allowed}.")
    return known


def _split(text: str, delimiter: str) -> list[str]:
    try:
        (cells,) = csv.reader([text.rstrip("\r\n")], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        raise InvalidLine(f"is not CSV: {error}. A cell with a quote mark ends with one on the same line") from None
    return cells


def _parse_cells(text: str, delimiter: str, header: list[str]) -> dict[str, Any]:
    cells = _split(text, delimiter)
    if len(cells) != len(header):
        raise InvalidLine(f"has {len(cells)} cells, and the header has {len(header)}")
    return {name: cell.strip() for name, cell in zip(header, cells, strict=True)}


def parse_line(values: Mapping[str, Any], application: str, defaults: HomeDefaults) -> HomeLine:
    """Return the home and the device that the values of a line describe. Raise InvalidLine if they are none.

    An empty value is a missing one. `parse_options` checks the options of the home.
    """
    if unknown := sorted(set(values) - set(COLUMNS)):
        raise InvalidLine(f"unknown member {', '.join(map(repr, unknown))}. The members are: {', '.join(COLUMNS)}")
    columns = {COLUMNS[name]: value for name, value in values.items() if value not in (None, "")}
    live, tariffs = columns.pop("live", False), columns.pop("tariffs", None)
    if not_text := [name for name, column in COLUMNS.items() if not isinstance(columns.get(column, ""), str)]:
        raise InvalidLine(f"{not_text[0]}: is not a text. Write the value as a text in quote marks")
    device, device_type = columns.pop("device", None), columns.pop("device_type", None)
    if device is None and device_type is not None:
        raise InvalidLine("deviceType: is there without a device. Add the hardware ID of the device, or remove it")
    if device is not None and len(device) > MAX_NAME_CHARACTERS:
        raise InvalidLine(f"device: has {len(device)} characters, and the maximum is {MAX_NAME_CHARACTERS}")
    columns.setdefault("time_zone", defaults.time_zone)
    columns.setdefault("culture", defaults.culture)
    missing = [name for name in (*REQUIRED, "timeZone") if columns.get(COLUMNS[name]) is None]
    if missing:
        raise InvalidLine(f"{', '.join(missing)}: is empty")
    columns = {"name": DEFAULT_HOME_NAME, **columns}
    options = HomeOptions(
        application=application, live=_parse_live(live), tariff_lines=_tariff_lines(tariffs), **columns
    )
    return HomeLine(options, device, device_type)


def _parse_live(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    parsed = _BOOLEANS.get(value.lower()) if isinstance(value, str) else None
    if parsed is None:
        raise InvalidLine(f"live: {value!r} is neither true nor false")
    return parsed


def _tariff_lines(value: Any) -> list[tuple[int, str]] | None:
    """Return the tariffs of a line as those of a file, with their positions from 1."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(tariff, dict) for tariff in value):
        raise InvalidLine("tariffs: is not a list of objects")
    return [(position, orjson.dumps(tariff).decode()) for position, tariff in enumerate(value, start=1)]
