"""The archive of all data of a user: a ZIP file with records as JSON and series of readings as CSV.

The archive is written while the records are read, page by page, so that its size needs no memory.
"""

import re
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, cast

import msgspec
from sqlalchemy import ColumnElement, or_
from sqlmodel import col

from wattgate.clock import format_iso, format_iso_ms
from wattgate.db import models
from wattgate.db.encryption.secret_columns import SECRET_COLUMNS, Protection
from wattgate.db.models import Tenanted
from wattgate.db.personal_data.rules import condition, primary_key_of, read_page
from wattgate.db.personal_data.tables import USER_RULES
from wattgate.db.readings.series_keys import resource_number
from wattgate.db.rows.lookups import model_columns
from wattgate.db.rows.rows import Rows
from wattgate.energy.costs.tariffs import PriceFormula
from wattgate.energy.costs.timeline import from_scaled
from wattgate.energy.quantities import to_major
from wattgate.energy.storage_fields import QUALITIES, ReadingField, parse_fields
from wattgate.enums import TariffKind, to_camel_case

MAX_TIMESTAMP_MS = 2**62
"""An instant after every reading, in milliseconds since 1970. Its negative is before every reading."""

PAGE_ROWS = 500
"""Maximum records that are read at once."""

PAGE_READINGS = 5_000
"""Maximum readings or prices that are read at once."""

Query = Callable[[Rows], Awaitable[Any]]
ReadRows = Callable[[Query], Awaitable[Any]]
"""Returns the result of a query, which has a session of its own."""

_OF_OTHERS = frozenset({"resource.successor_id"})
"""Columns that identify records of other households, as `table.column`."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
"""Characters that names of files and columns leave out."""

README = """This archive has all data that this service stores about you.

manifest.json        describes every file: what it contains, its format and its number of records
records/*.json       your records, one file for each kind: a JSON array of objects
readings/ID/*.csv    your readings, one file for each field of a resource. ID is the resourceId in resource.json
tariff-prices/*.csv  the prices of your tariffs with changing prices. The name is the tariffId in tariff.json

All times are in UTC (ISO 8601). Rates and charges of tariffs are in the major unit of the currency beside them, such as
0.245 GBP. Passwords, tokens and other secrets are not included.
"""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of the archive: its name, its description, and its pages of bytes with the number of records in each."""

    name: str
    format: str
    description: str
    pages: Callable[[], AsyncIterator[tuple[bytes, int]]]


@dataclass(slots=True)
class ArchiveProgress:
    """A piece of the archive, and the number of its files that are complete."""

    content: bytes
    files: int
    files_done: int


@dataclass(slots=True)
class _Output:
    """Collects the bytes of a ZIP file. It has no `tell`, so that `zipfile` never goes back."""

    pieces: list[bytes] = field(default_factory=list)

    def write(self, content: Any) -> int:
        self.pieces.append(bytes(content))
        return len(content)

    def flush(self) -> None:
        """Do nothing: `take` returns the bytes."""

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        content = b"".join(self.pieces)
        self.pieces.clear()
        return content


async def write_archive(read: ReadRows, user_id: str, now: datetime) -> AsyncIterator[ArchiveProgress]:
    """Yield the archive of a user in pieces of any size, with the progress."""
    files = await _list_files(read, user_id)
    total, entries = len(files) + 2, list[dict[str, Any]]()
    output = _Output()
    with zipfile.ZipFile(cast(Any, output), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        for number, file in enumerate(files):
            records = 0
            with archive.open(file.name, "w", force_zip64=True) as target:
                async for content, count in file.pages():
                    target.write(content)
                    records += count
                    yield ArchiveProgress(output.take(), total, number)
            described = {"name": file.name, "format": file.format, "description": file.description}
            entries.append({**described, "records": records})
        manifest = {"userId": user_id, "createdAt": format_iso(now), "files": entries}
        archive.writestr("manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    yield ArchiveProgress(output.take(), total, total)


async def _list_files(read: ReadRows, user_id: str) -> list[ArchiveFile]:
    files = [
        ArchiveFile(f"records/{model.__tablename__}.json", "json", description, _json_pages(read, model, user_id))
        for model, description in _exported_models().items()
    ]
    resources = await _read_all(read, models.Resource, _owner_condition(models.Resource, user_id))
    for resource in resources:
        if resource.cost_of is None:
            files += [_series_file(read, resource, stored) for stored in parse_fields(resource.storage)]
    by_resource = [resource.resource_id for resource in resources]
    dynamic = col(models.Tariff.resource_id).in_(by_resource) & (col(models.Tariff.kind) == TariffKind.DYNAMIC)
    for tariff in await _read_all(read, models.Tariff, lambda rows: dynamic):
        name, description = f"tariff-prices/{tariff.tariff_id}.csv", f"Prices of the tariff {tariff.name!r}."
        files.append(ArchiveFile(name, "csv", description, _price_pages(read, tariff.tariff_id, tariff.currency)))
    return files


def _exported_models() -> dict[type[Tenanted], str]:
    return {cast(type[Tenanted], rule.model): rule.exported for rule in USER_RULES if rule.exported}


def _json_pages(read: ReadRows, model: type[Tenanted], user_id: str) -> Callable[[], AsyncIterator[tuple[bytes, int]]]:
    columns = exported_columns(model)

    async def pages() -> AsyncIterator[tuple[bytes, int]]:
        separator = b"[\n"
        async for page in _pages_of(read, model, _owner_condition(model, user_id)):
            records = ({name: getattr(row, key) for key, name in columns.items()} for row in page)
            encoded = [
                msgspec.json.encode(record | _in_major(model, row)) for record, row in zip(records, page, strict=True)
            ]
            yield separator + b",\n".join(encoded), len(page)
            separator = b",\n"
        yield (b"\n]\n" if separator == b",\n" else b"[]\n"), 0

    return pages


def _in_major(model: type[Tenanted], row: Any) -> dict[str, Any]:
    """Return the amounts of a row in the major unit, with their currency. The database has hundredths of it.

    The row is no instance of its model.
    """
    if model is not models.Tariff:
        return {}
    return {
        "rate": None if row.rate is None else to_major(row.rate),
        "standingCharge": to_major(row.standing_charge),
        "bands": [msgspec.structs.replace(band, rate=to_major(band.rate)) for band in row.bands],
        "blocks": [msgspec.structs.replace(block, rate=to_major(block.rate)) for block in row.blocks],
        "priceFormula": row.price_formula and _formula_in_major(row.price_formula),
        "components": [
            msgspec.structs.replace(
                part,
                rate=to_major(part.rate),
                steps=[msgspec.structs.replace(step, rate=to_major(step.rate)) for step in part.steps],
            )
            for part in row.components
        ],
    }


def _formula_in_major(formula: PriceFormula) -> PriceFormula:
    limits = (None if limit is None else to_major(limit) for limit in (formula.floor, formula.cap))
    return PriceFormula(formula.factor, *limits)


def exported_columns(model: type[Tenanted]) -> Mapping[str, str]:
    """Return the columns of a model that an export shows, with their names in it.

    Secrets, contents and identifiers of other households are left out.
    """
    table = str(model.__tablename__)
    names = {}
    for column in model_columns(model):
        secret = SECRET_COLUMNS.get(f"{table}.{column.name}")
        is_secret = secret is not None and secret.protection is not Protection.NOT_SECRET
        is_hidden = is_secret or f"{table}.{column.name}" in _OF_OTHERS
        if not is_hidden and column.name != "application_id" and column.type.python_type is not bytes:
            names[column.name] = to_camel_case(column.name)
    return MappingProxyType(names)


def _owner_condition(model: type[Tenanted], user_id: str) -> Callable[[Rows], ColumnElement[bool]]:
    selections = [found for rule in USER_RULES if rule.model is model for found in rule.selections]
    return lambda rows: or_(*(condition(rows, model, found, user_id) for found in selections))


async def _read_all(read: ReadRows, model: type[Tenanted], where: Callable[[Rows], ColumnElement[bool]]) -> list[Any]:
    return [row async for page in _pages_of(read, model, where) for row in page]


async def _pages_of(
    read: ReadRows, model: type[Tenanted], where: Callable[[Rows], ColumnElement[bool]]
) -> AsyncIterator[Sequence[Any]]:
    after: tuple[Any, ...] | None = None
    while True:

        async def query(rows: Rows, after: tuple[Any, ...] | None = after) -> list[Any]:
            return await read_page(rows, model, where(rows), after, PAGE_ROWS)

        page = await read(query)
        if page:
            yield page
        if len(page) < PAGE_ROWS:
            return
        after = primary_key_of(model, page[-1])


def _series_file(read: ReadRows, resource: models.Resource, stored: ReadingField) -> ArchiveFile:
    series = (resource_number(resource), stored.index)
    name = _NOT_IN_NAMES.sub("", stored.name) or "field"

    async def pages() -> AsyncIterator[tuple[bytes, int]]:
        yield f"timestamp,value_{_header(stored.unit)},quality\n".encode(), 0
        start: int | None = -MAX_TIMESTAMP_MS
        while start is not None:

            async def query(rows: Rows, start: int = start) -> Any:
                return await rows.readings.list_readings(series, start, MAX_TIMESTAMP_MS, limit=PAGE_READINGS)

            readings = await read(query)
            yield "".join(_reading_lines(readings, stored.decimals)).encode(), len(readings)
            start = readings[-1].at + 1 if len(readings) == PAGE_READINGS else None

    description = f"Readings of the field {stored.name} of {resource.name!r}, in {stored.unit}."
    return ArchiveFile(f"readings/{resource.resource_id}/{stored.index}-{name}.csv", "csv", description, pages)


def _reading_lines(readings: Sequence[Any], decimals: int) -> Iterator[str]:
    for reading in readings:
        value = Decimal(reading.value).scaleb(-decimals)
        yield f"{format_iso_ms(reading.at)},{value:f},{QUALITIES[reading.quality].value}\n"


def _price_pages(read: ReadRows, tariff_id: str, currency: str) -> Callable[[], AsyncIterator[tuple[bytes, int]]]:
    async def pages() -> AsyncIterator[tuple[bytes, int]]:
        yield b"timestamp,rate,currency\n", 0
        start: int | None = -MAX_TIMESTAMP_MS
        while start is not None:

            async def query(rows: Rows, start: int = start) -> Any:
                found = await rows.prices.list_between([tariff_id], start, MAX_TIMESTAMP_MS, limit=PAGE_READINGS)
                return found.get(tariff_id, [])

            prices = await read(query)
            rates = ((price.at, to_major(from_scaled(price.rate))) for price in prices)
            lines = (f"{format_iso_ms(at)},{rate:f},{currency}\n" for at, rate in rates)
            yield "".join(lines).encode(), len(prices)
            start = prices[-1].at + 1 if len(prices) == PAGE_READINGS else None

    return pages


def _header(unit: str) -> str:
    return _NOT_IN_NAMES.sub("", unit) or "unit"
