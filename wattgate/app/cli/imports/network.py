"""Import a JSON Lines file into the registry of the meter network, one object for each line, in batches.

`kind` is the type of a line: `meterPoint` (mpxn, postcode, smetsVersion, eligible), `device` (eui, mpxn, deviceType,
manufacturer, model, firmwareVersion, status, commissionedAt), `reading` (mpxn, classifier, at, value, quality) or
`register` (mpxn, classifier, at, value, unit). Instants are ISO 8601 with an offset. A line replaces the stored record
with the same key.
"""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, BinaryIO, Literal

import msgspec
from msgspec import Meta
from sqlmodel import SQLModel

from wattgate.app.cli.imports.line_reader import read_numbered_lines
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.energy.meters import meter_points
from wattgate.enums import ReadingQuality
from wattgate.operations.core.runner import Runner
from wattgate.operations.devices.network_registry import store_registry_records
from wattgate.operations.readings.bulk_recorder import BulkReport, InvalidLine, ReportRefusal, decode_line
from wattgate.principal import Principal, Role
from wattgate.values.decimals import is_bounded

BATCH_RECORDS = 5_000
"""Maximum number of records in a transaction."""

AwareDatetime = Annotated[datetime, Meta(tz=True)]
MAX_VALUE = Decimal(10) ** 12
"""The absolute value of a reading must be smaller. Values are stored in millionths of a unit in 64 bits."""


class _RegistryLine(msgspec.Struct, tag_field="kind", rename="camel", forbid_unknown_fields=True):
    mpxn: str


class MeterPointLine(_RegistryLine, tag="meterPoint"):
    postcode: str = ""
    smets_version: Literal["", "1", "2"] = ""
    eligible: bool = True


class DeviceLine(_RegistryLine, tag="device"):
    eui: str
    device_type: Literal["CHF", "ESME", "GSME", "GPF", "IHD", "PPMID", "CAD"]
    manufacturer: str = ""
    model: str = ""
    firmware_version: str = ""
    status: str = "Commissioned"
    commissioned_at: AwareDatetime | None = None


class ReadingLine(_RegistryLine, tag="reading"):
    classifier: str
    at: AwareDatetime
    value: Decimal
    quality: Literal["ACTUAL", "ESTIMATED", "SUBSTITUTED", "QUESTIONABLE"] = "ACTUAL"


class RegisterLine(_RegistryLine, tag="register"):
    classifier: str
    at: AwareDatetime
    value: Decimal
    unit: str


_LINE_DECODER = msgspec.json.Decoder(MeterPointLine | DeviceLine | ReadingLine | RegisterLine)


async def import_network(
    file: BinaryIO, *, runner: Runner, refuse: ReportRefusal, progress: Callable[[int], None]
) -> BulkReport:
    """Store the record of each valid line in the registry. Call `refuse` with the number and reason of each other line.

    Call `progress` with the number of bytes read so far.
    """
    report, batch = BulkReport(), list[SQLModel]()

    async def store() -> None:
        if batch:
            arguments = {"records": batch}
            report.recorded += await runner.run(store_registry_records, Principal(Role.SYSTEM), arguments)
            batch.clear()
        progress(file.tell())

    for number, text in read_numbered_lines(file):
        report.lines += 1
        try:
            batch.append(parse_record(text))
        except InvalidLine as error:
            report.refused += 1
            refuse(number, str(error))
        if len(batch) >= BATCH_RECORDS:
            await store()
    await store()
    return report


def parse_record(text: str) -> SQLModel:
    """Return the registry record of a line. Raise InvalidLine if the line is not a valid record."""
    line = decode_line(_LINE_DECODER, text)
    fields = msgspec.structs.asdict(line)
    fields["mpxn"] = meter_points.parse_meter_point_number(line.mpxn)
    if fields["mpxn"] is None:
        raise InvalidLine(f"{line.mpxn!r} is not a meter point number. Use 1 to 13 digits")
    if isinstance(line, MeterPointLine):
        return NetworkMeterPoint(**fields | {"postcode": meter_points.normalize_postcode(line.postcode) or ""})
    if isinstance(line, DeviceLine):
        eui = meter_points.parse_eui(line.eui)
        if eui is None:
            raise InvalidLine(f"{line.eui!r} is not an EUI-64 of 16 hexadecimal digits")
        return NetworkDevice(**fields | {"eui": eui})
    if not line.value.is_finite() or not is_bounded(line.value) or abs(line.value) >= MAX_VALUE:
        raise InvalidLine(f"{line.value} is not a number between -10^12 and 10^12")
    if isinstance(line, ReadingLine):
        return NetworkReading(**fields | {"quality": ReadingQuality[line.quality]})
    return NetworkRegister(**fields)
