"""A JSON Lines file into the registry of the meter network: one object a line, streamed in batches.

`kind` says what a line is: `meterPoint` (mpxn, postcode, smetsVersion, eligible), `device` (eui, mpxn, deviceType,
manufacturer, model, firmwareVersion, status, commissionedAt), `reading` (mpxn, classifier, at, value, quality) or
`register` (mpxn, classifier, at, value, unit). Instants are ISO 8601 with an offset. What is known already is replaced.
"""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, BinaryIO, Literal

import msgspec
from msgspec import Meta
from sqlmodel import SQLModel

from wattgate.app.cli.imports.line_reader import numbered_lines
from wattgate.db.models import NetworkDevice, NetworkMeterPoint, NetworkReading, NetworkRegister
from wattgate.energy import meter_points
from wattgate.enums import ReadingQuality
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers.network_registry import record_in_registry
from wattgate.graphql.transport.bulk import BadLine, Refuse, Report, decoded
from wattgate.principal import Principal, Role

BATCH = 5_000

Instant = Annotated[datetime, Meta(tz=True)]
LARGEST = Decimal(10) ** 12
"""Values are kept to a millionth of a unit in 64 bits."""


class _Line(msgspec.Struct, tag_field="kind", rename="camel", forbid_unknown_fields=True):
    mpxn: str


class MeterPointLine(_Line, tag="meterPoint"):
    postcode: str = ""
    smets_version: Literal["", "1", "2"] = ""
    eligible: bool = True


class DeviceLine(_Line, tag="device"):
    eui: str
    device_type: Literal["CHF", "ESME", "GSME", "GPF", "IHD", "PPMID", "CAD"]
    manufacturer: str = ""
    model: str = ""
    firmware_version: str = ""
    status: str = "Commissioned"
    commissioned_at: Instant | None = None


class ReadingLine(_Line, tag="reading"):
    classifier: str
    at: Instant
    value: Decimal
    quality: Literal["ACTUAL", "ESTIMATED", "SUBSTITUTED", "QUESTIONABLE"] = "ACTUAL"


class RegisterLine(_Line, tag="register"):
    classifier: str
    at: Instant
    value: Decimal
    unit: str


_DECODER = msgspec.json.Decoder(MeterPointLine | DeviceLine | ReadingLine | RegisterLine)


async def import_network(file: BinaryIO, *, runner: Runner, refuse: Refuse, progress: Callable[[int], None]) -> Report:
    """Put every line of the file into the registry that can be; the others are refused by line and reason.

    `progress` is told the bytes read so far.
    """
    report, batch = Report(), list[SQLModel]()

    async def store() -> None:
        if batch:
            arguments = {"records": batch}
            report.recorded += await runner.run(record_in_registry, Principal(Role.SYSTEM), arguments)
            batch.clear()
        progress(file.tell())

    for number, text in numbered_lines(file):
        report.lines += 1
        try:
            batch.append(record_of(text))
        except BadLine as bad:
            report.refused += 1
            refuse(number, str(bad))
        if len(batch) >= BATCH:
            await store()
    await store()
    return report


def record_of(text: str) -> SQLModel:
    """What a line says, as a record of the registry. BadLine where it says nothing that can be kept."""
    line = decoded(_DECODER, text)
    given = msgspec.structs.asdict(line)
    given["mpxn"] = meter_points.meter_point_number(line.mpxn)
    if given["mpxn"] is None:
        raise BadLine(f"{line.mpxn!r} is not a meter point: 1 to 13 digits")
    if isinstance(line, MeterPointLine):
        return NetworkMeterPoint(**given | {"postcode": meter_points.postcode(line.postcode) or ""})
    if isinstance(line, DeviceLine):
        eui = meter_points.eui(line.eui)
        if eui is None:
            raise BadLine(f"{line.eui!r} is not an EUI-64 of 16 hexadecimal digits")
        return NetworkDevice(**given | {"eui": eui})
    if not line.value.is_finite() or abs(line.value) >= LARGEST:
        raise BadLine(f"{line.value} is not a number below 10 to the 12th")
    if isinstance(line, ReadingLine):
        return NetworkReading(**given | {"quality": ReadingQuality[line.quality]})
    return NetworkRegister(**given)
