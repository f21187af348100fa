"""File profiles: what a file of readings from one source looks like. A profile is a TOML file.

The package has profiles of known sources in the folder `profiles`. A user's own is read by its path. The reader
guesses nothing that a profile leaves open: it asks for the option that says it.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta, tzinfo
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from wattgate.enums import DateOrder, Epoch, ReadingQuality, Times
from wattgate.errors import BadInput
from wattgate.reading_files.line_reader import WrongEncoding, find_codec
from wattgate.time_zones import time_zone_problem
from wattgate.values.toml_files import parse_toml, toml_names, toml_text

_FOLDER, _KIND = ("wattgate.reading_files", "profiles"), "file profile"

MAX_COLUMNS = 1_000
"""Maximum number of columns of a file. The widest file of one line a day has a column each five minutes."""

NATIVE = "wattgate"
"""The profile of wattgate's own columns, which is used if no other one is named."""

HOME_ZONE = "home"
"""The zone of a profile whose times are local times of the home."""


class Format(Enum):
    """The kind of a file."""

    TABLE = "table"
    NEM12 = "nem12"
    GREEN_BUTTON = "green-button"


DECIMAL_MARKS: Mapping[str, str] = MappingProxyType({"point": ".", "comma": ","})
THOUSANDS_MARKS: Mapping[str, str] = MappingProxyType({"comma": ",", "point": ".", "space": " ", "apostrophe": "'"})
DELIMITERS: Mapping[str, str] = MappingProxyType({"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"})
UNITS = ("kWh", "Wh", "MWh", "kW", "W", "m3")
POWER_UNITS: Mapping[str, str] = MappingProxyType({"kW": "kWh", "W": "Wh"})
"""Units of mean power, and the unit of its energy."""

_INTERVAL = re.compile(r"PT(?:([0-9]{1,2})H)?(?:([0-9]{1,4})M)?")
_DAY = timedelta(days=1)


class TextForm(Struct, frozen=True, forbid_unknown_fields=True):
    """How the text of a file is written. Marks and delimiters have names, such as `comma`."""

    encoding: str = "utf-8"
    delimiters: tuple[str, ...] = ("comma",)
    decimal: str | None = None
    thousands: str | None = None
    preamble_lines: int = 0


class TimeForm(Struct, frozen=True, forbid_unknown_fields=True):
    """How times are written. `zone` is an IANA name, or `home`. `interval` is ISO 8601, such as PT30M.

    `epoch` is for Green Button alone: some utilities write local times as seconds since 1970.
    """

    date_order: DateOrder | None = None
    times: Times | None = None
    zone: str = HOME_ZONE
    interval: str | None = None
    epoch: Epoch | None = None


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """The names that each column may have in the header. Case and repeated spaces do not matter.

    `at` is a time in UTC or with an offset. `time` is a time of which `times` says what it means. `date` and `clock`
    are its two parts. `source` names the meter or the series: a file has one of them.
    """

    at: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    clock: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    meter_point: tuple[str, ...] = ()
    classifier: tuple[str, ...] = ()
    resource_id: tuple[str, ...] = ()
    field: tuple[str, ...] = ()
    quality: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()


class Value(Struct, frozen=True, forbid_unknown_fields=True):
    """A column of values, or columns that are added. `register` says that it is a cumulative register.

    `columns` are the names that the column may have, and `added` those of further columns whose values are added.
    """

    columns: tuple[str, ...] = ()
    added: tuple[tuple[str, ...], ...] = ()
    unit: str | None = None
    classifier: str = ""
    register: bool = False

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The names of each column."""
        return (self.columns, *self.added) if self.columns else self.added


class FileProfile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file profile. `layout` is `wide` if a line has the values of a day."""

    title: str
    name: str = ""
    description: str = ""
    format: Format = Format.TABLE
    layout: Literal["long", "wide"] = "long"
    text: TextForm = TextForm()
    time: TimeForm = TimeForm()
    columns: Columns = Columns()
    values: tuple[Value, ...] = ()
    qualities: dict[str, ReadingQuality] = msgspec.field(default_factory=dict)

    @property
    def interval(self) -> timedelta | None:
        return None if self.time.interval is None else parse_interval(self.time.interval)

    @property
    def delimiters(self) -> Sequence[str]:
        return [DELIMITERS[name] for name in self.text.delimiters]


class ProfileOptions(Struct, frozen=True):
    """Options of a command or an upload that override what a profile says. None leaves the profile as it is.

    `columns` are names of columns by the member of `Columns`, and `value` names the column of the value.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_order: DateOrder | None = None
    times: Times | None = None
    interval: str | None = None
    epoch: Epoch | None = None
    zone: str | None = None
    unit: str | None = None
    columns: Mapping[str, str] = MappingProxyType({})

    @property
    def is_empty(self) -> bool:
        return self == ProfileOptions()


def parse_interval(text: str) -> timedelta:
    """Return an ISO 8601 duration of hours and minutes. Raise BadInput unless it divides a day."""
    found = _INTERVAL.fullmatch(text)
    hours, minutes = (int(part or 0) for part in found.groups()) if found else (0, 0)
    interval = timedelta(hours=hours, minutes=minutes)
    if not interval or _DAY % interval:
        raise BadInput(f"{text!r} is not an interval that divides a day. Use one such as PT15M, PT30M or PT1H")
    return interval


def profile_names() -> list[str]:
    """Return the names of the profiles of the package."""
    return toml_names(*_FOLDER)


def packaged_profile(name: str) -> FileProfile:
    """Return a profile of the package. Raise BadInput if there is none of this name."""
    return parse_profile(profile_text(name).encode(), name)


def profile_text(name: str) -> str:
    """Return the file of a profile of the package. Raise BadInput if there is none of this name."""
    return toml_text(*_FOLDER, name, _KIND)


def packaged_profiles() -> list[FileProfile]:
    """Return all profiles of the package."""
    return [packaged_profile(name) for name in profile_names()]


def parse_profile(content: bytes, name: str) -> FileProfile:
    """Return the profile of a TOML file. Raise BadInput with the place of what is wrong in it."""
    profile = parse_toml(content, FileProfile, name, _KIND)
    check_profile(profile)
    return profile


_TIME_ROLES = ("at", "start", "end", "time", "date", "clock")


def check_profile(profile: FileProfile) -> None:
    """Raise BadInput with all that is wrong in a profile, each by its name."""
    if problems := list(_problems(profile)):
        raise BadInput(f"The file profile {profile.name} is not valid: {'; '.join(problems)}.")


def _problems(profile: FileProfile) -> list[str]:
    text, when, columns = profile.text, profile.time, profile.columns
    problems = [
        f"{place} has {value!r}, which is none of {', '.join(known)}"
        for place, value, known in (
            *(("text.delimiters", one, DELIMITERS) for one in text.delimiters),
            ("text.decimal", text.decimal, DECIMAL_MARKS),
            ("text.thousands", text.thousands, THOUSANDS_MARKS),
            *((f"values[{number}].unit", value.unit, UNITS) for number, value in enumerate(profile.values)),
        )
        if value is not None and value not in known
    ]
    if text.decimal is not None and text.decimal == text.thousands:
        problems.append("text.decimal and text.thousands are the same mark")
    if not text.delimiters:
        problems.append("text.delimiters has no name")
    if not 0 <= text.preamble_lines <= 1_000:
        problems.append("text.preamble_lines is not between 0 and 1,000")
    try:
        find_codec(text.encoding)
    except WrongEncoding as error:
        problems.append(f"text.encoding: {error.message.removesuffix('.')}")
    if when.zone != HOME_ZONE and (problem := time_zone_problem(when.zone)):
        problems.append(f"time.zone: {problem}")
    if when.interval is not None:
        try:
            parse_interval(when.interval)
        except BadInput as error:
            problems.append(f"time.interval: {error.message}")
    if profile.format is Format.TABLE:
        problems += _column_problems(profile, columns)
    return problems


def _column_problems(profile: FileProfile, columns: Columns) -> list[str]:
    has_time = columns.at or columns.start or columns.end or columns.time or columns.date
    problems = [] if has_time else ["columns has none of at, start, end, time and date"]
    if profile.layout == "wide":
        problems += [] if columns.date else ["columns.date is missing; a wide file has one line for each date"]
        if len(profile.values) != 1 or profile.values[0].columns:
            problems.append("a wide file has one table `values`, without `columns`")
        return problems
    if not profile.values:
        problems.append("values is missing; it names the columns of the values")
    for number, value in enumerate(profile.values):
        if not value.names or not all(value.names):
            problems.append(f"values[{number}].columns is missing")
    return problems


def with_options(profile: FileProfile, options: ProfileOptions) -> FileProfile:
    """Return a profile that options override. Raise BadInput if the result is not valid."""
    text = _replaced(
        profile.text,
        encoding=options.encoding,
        delimiters=None if options.delimiter is None else (options.delimiter,),
        decimal=options.decimal,
        thousands=options.thousands,
    )
    if options.decimal is not None and text.thousands == options.decimal and options.thousands is None:
        text = msgspec.structs.replace(text, thousands=None)
    when = _replaced(
        profile.time,
        date_order=options.date_order,
        times=options.times,
        interval=options.interval,
        epoch=options.epoch,
        zone=options.zone,
    )
    columns, values = profile.columns, profile.values
    if any(role in _TIME_ROLES for role in options.columns):  # instead of the columns of times of the profile
        columns = msgspec.structs.replace(columns, **dict.fromkeys(_TIME_ROLES, ()))
    for role, name in options.columns.items():
        if role == "value":
            values = (Value(columns=(name,), unit=values[0].unit if len(values) == 1 else None),)
        elif role in Columns.__struct_fields__:
            columns = msgspec.structs.replace(columns, **{role: (name,) if name else ()})
        else:
            known = ", ".join(("value", *Columns.__struct_fields__))
            raise BadInput(f"{role!r} is no column of a file of readings. Use one of: {known}.")
    if options.unit is not None:
        values = tuple(msgspec.structs.replace(value, unit=options.unit) for value in values)
    changed = msgspec.structs.replace(profile, text=text, time=when, columns=columns, values=values)
    check_profile(changed)
    return changed


def _replaced(struct: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(struct, **{name: value for name, value in changes.items() if value is not None})


def zone_of(profile: FileProfile) -> tzinfo | None:
    """Return the zone that a profile names, or None if its times are those of the home."""
    name = profile.time.zone
    return None if name == HOME_ZONE else UTC if name == "UTC" else ZoneInfo(name)
