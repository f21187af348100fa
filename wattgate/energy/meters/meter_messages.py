"""Parser of the MQTT messages that in-home displays publish: tables and functions without I/O.

There are two formats. A display publishes the local format to a broker in the home. The cloud format has attributes of
the ZigBee metering cluster as hexadecimal numbers.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeVar

import msgspec

from wattgate.clock import EPOCH
from wattgate.energy.meters.meter_points import NetworkState
from wattgate.values.decimals import InvalidDecimal, parse_decimal

P = ParamSpec("P")
T = TypeVar("T")

_DECODER = msgspec.json.Decoder(float_hook=Decimal)
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,16}")

MAX_PAYLOAD_BYTES = 64 * 1024
"""Bytes of the largest accepted message. Real messages have less than two thousand."""

TOO_LARGE = f"the message has more than {MAX_PAYLOAD_BYTES:,} bytes"
"""Why a larger message is refused."""

MAX_TEXT_LENGTH = 64


class MeterMessageError(ValueError):
    """A message, or a part of it, cannot be parsed; the text says why."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value of a message, in the unit of its field: `unit` is W, kWh, m3 or pence."""

    classifier: str
    field: str
    value: Decimal
    unit: str


@dataclass(frozen=True, slots=True)
class MeterMessage:
    """A parsed message: measurements of meters, or the network state of the display, at one instant.

    `problems` describes the parts of the message that could not be parsed.
    """

    hardware_id: str
    at: datetime
    values: tuple[Measurement, ...] = ()
    network_state: NetworkState | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantity:
    """A storage field for measurements: its unit, its largest plausible amount, and whether 0 is a value.

    `units` maps each unit of messages to its factor to the field's unit. The first unit is the default.
    """

    unit: str
    max_amount: int
    units: Mapping[str, Decimal]
    allows_zero: bool = False


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        # the power attribute has 24 bits
        "POWER": Quantity("W", 2**23, {"kW": Decimal(1000), "W": Decimal(1)}, allows_zero=True),
        # registers have at most eight digits before the point; old firmware reports billions for gas
        "REGISTER": Quantity("kWh", 10**8, {"kWh": Decimal(1), "Wh": Decimal("0.001")}),
        "VOLUME": Quantity("m3", 10**8, {"m3": Decimal(1)}),
        "RATE": Quantity("pence", 10**6, {"pounds": Decimal(100)}),
        "STANDING": Quantity("pence", 10**6, {"pounds": Decimal(100)}),
    }
)
"""Measured fields, by name. A resource type receives those for which it has a field of the same name.

Displays send zero registers and prices before they know the actual value, so zeros of these are ignored.
"""

REGISTER_FIELDS = ("REGISTER", "VOLUME")
"""Fields of cumulative registers: energy before volume, because energy has the unit of the consumption."""

MAX_PARSED_AMOUNT = 10**12
"""More than the largest amount in any unit. Larger numbers are rejected before any arithmetic."""

NO_POWER_VALUE = Decimal(-(2**23))
"""The power in W that means 'no value' (-8388.608 kW): the minimum of a signed 24-bit attribute."""


@dataclass(frozen=True, slots=True)
class ValueMapping:
    """The path of a value and of its unit in a meter's part of a local message, and the field that it fills."""

    value_path: tuple[str, ...]
    unit_path: tuple[str, ...] | None
    classifier: str
    field: str


def _energy_mappings(classifier: str) -> tuple[ValueMapping, ...]:
    imported = ("energy", "import")
    return (
        ValueMapping((*imported, "cumulative"), (*imported, "units"), classifier, "REGISTER"),
        ValueMapping((*imported, "price", "unitrate"), None, classifier, "RATE"),
        ValueMapping((*imported, "price", "standingcharge"), None, classifier, "STANDING"),
    )


ELECTRICITY, EXPORT, GAS = "electricity.consumption", "electricity.export", "gas.consumption"

LOCAL_VALUE_MAPPINGS: Mapping[str, tuple[ValueMapping, ...]] = MappingProxyType(
    {
        "electricitymeter": (
            ValueMapping(("power", "value"), ("power", "units"), ELECTRICITY, "POWER"),
            *_energy_mappings(ELECTRICITY),
            ValueMapping(("energy", "export", "cumulative"), ("energy", "export", "units"), EXPORT, "REGISTER"),
        ),
        # old firmware also reports power and export for gas; gas meters measure neither
        "gasmeter": (
            *_energy_mappings(GAS),
            ValueMapping(
                ("energy", "import", "cumulativevol"), ("energy", "import", "cumulativevolunits"), GAS, "VOLUME"
            ),
        ),
    }
)

METERING_CLUSTER = "0702"
CLOUD_REGISTERS: Mapping[str, tuple[tuple[tuple[str, str], str], ...]] = MappingProxyType(
    {
        "elecMtr": ((("00", "00"), ELECTRICITY), (("00", "01"), EXPORT)),
        "gasMtr": ((("00", "00"), GAS),),
    }
)
"""For each meter of a cloud message: set and attribute of its cumulative registers in the metering cluster, and the
classifier of each."""

UNIT_ATTRIBUTE, MULTIPLIER_ATTRIBUTE, DIVISOR_ATTRIBUTE, DEMAND_ATTRIBUTE = (
    ("03", "00"),
    ("03", "01"),
    ("03", "02"),
    ("04", "00"),
)
CLOUD_UNITS: Mapping[int, tuple[str, str]] = MappingProxyType({0: ("REGISTER", "kWh"), 1: ("VOLUME", "m3")})
"""For each value of the attribute UNIT: the field that a register fills, and its unit."""


def parse_message(topic: str, payload: bytes) -> MeterMessage:
    """Parse a message. Raise MeterMessageError if it is not a display's message, or has no timestamp."""
    match topic.split("/"):
        case [*_, mac, "SENSOR", ("electricitymeter" | "gasmeter") as meter]:
            return _parse_local(_parse_hardware_id(mac), meter, _parse_object(payload))
        case [*_, mac, "STATE"]:
            return _parse_state(_parse_hardware_id(mac), _parse_object(payload))
        case ["SMART", _, hardware_id]:
            return _parse_cloud(_parse_hardware_id(hardware_id), _parse_object(payload))
    raise MeterMessageError("unknown topic: displays do not publish on it")


def _parse_local(hardware_id: str, meter: Literal["electricitymeter", "gasmeter"], payload: Any) -> MeterMessage:
    part = _get_member(payload, meter)
    if part is None:
        raise MeterMessageError(f"{meter} is missing")
    at, parts = _parse_timestamp(_get_member(payload, meter, "timestamp")), _PartParser()
    mappings = LOCAL_VALUE_MAPPINGS[meter]
    values = [parts.parse(_parse_value, part, mapping) for mapping in mappings if mapping.value_path[0] in part]
    return MeterMessage(hardware_id, at, _without_none(values), problems=tuple(parts.problems))


def _parse_value(part: Any, mapping: ValueMapping) -> Measurement | None:
    number = _get_member(part, *mapping.value_path)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise MeterMessageError(f"{'.'.join(mapping.value_path)} is not a number")
    try:
        amount = Decimal(number) if isinstance(number, int) else parse_decimal(number)
    except InvalidDecimal as error:
        raise MeterMessageError(f"{'.'.join(mapping.value_path)}: {error}") from None
    unit = None if mapping.unit_path is None else _get_member(part, *mapping.unit_path)
    return _to_measurement(mapping.classifier, mapping.field, amount, unit)


def _parse_state(hardware_id: str, payload: Any) -> MeterMessage:
    at, parts = _parse_timestamp(_get_member(payload, "timestamp")), _PartParser()
    state = NetworkState(
        at=at,
        software=parts.parse(_parse_text, payload, "software"),
        hardware=parts.parse(_parse_text, payload, "hardware"),
        smets_version=parts.parse(_parse_text, payload, "smetsversion"),
        rssi=parts.parse(_parse_integer, payload, "han", "rssi"),
        lqi=parts.parse(_parse_integer, payload, "han", "lqi"),
        status=parts.parse(_parse_text, payload, "han", "status"),
    )
    return MeterMessage(hardware_id, at, network_state=state, problems=tuple(parts.problems))


def _parse_cloud(hardware_id: str, payload: Any) -> MeterMessage:
    at, parts = _parse_cloud_timestamp(payload), _PartParser()
    values = [parts.parse(_parse_demand, payload)]
    for meter, registers in CLOUD_REGISTERS.items():
        values += [
            parts.parse(_parse_register, payload, meter, attribute, classifier) for attribute, classifier in registers
        ]
    state = NetworkState(
        at=at,
        hardware=parts.parse(_parse_text, payload, "hversion"),
        smets_version=parts.parse(_parse_text, payload, "smetsVer"),
        rssi=parts.parse(_parse_signed_byte, payload, "pan", "rssi"),
        lqi=parts.parse(_parse_byte, payload, "pan", "lqi"),
        status=parts.parse(_parse_text, payload, "pan", "status"),
    )
    reported_state = state if _get_member(payload, "pan") is not None else None
    return MeterMessage(hardware_id, at, _without_none(values), reported_state, tuple(parts.problems))


def _parse_demand(payload: Any) -> Measurement | None:
    """Parse the power: a signed 24-bit number, with or without its sign extended into higher bits."""
    bits = _parse_hexadecimal(payload, "elecMtr", METERING_CLUSTER, *DEMAND_ATTRIBUTE)
    if bits is None:
        return None
    if bits >> 24 not in (0, 0xFF):
        raise MeterMessageError("the demand has more than 24 bits")
    low = bits & 0xFFFFFF
    return _to_measurement(ELECTRICITY, "POWER", Decimal(low - (1 << 24) if low >> 23 else low), "W")


def _parse_register(payload: Any, meter: str, attribute: tuple[str, str], classifier: str) -> Measurement | None:
    """Parse a cumulative register, with the unit and scale in the same message."""
    count = _parse_hexadecimal(payload, meter, METERING_CLUSTER, *attribute)
    if count is None or count == (1 << 48) - 1:  # all bits set: the meter has no such register
        return None
    unit, multiplier, divisor = (
        _parse_hexadecimal(payload, meter, METERING_CLUSTER, *attribute_path)
        for attribute_path in (UNIT_ATTRIBUTE, MULTIPLIER_ATTRIBUTE, DIVISOR_ATTRIBUTE)
    )
    field_and_unit = CLOUD_UNITS.get(unit) if unit is not None else None
    if field_and_unit is None or not multiplier or not divisor:
        raise MeterMessageError(f"{meter} has a register without a known unit, a multiplier and a divisor")
    field, unit_name = field_and_unit
    return _to_measurement(classifier, field, Decimal(count) * multiplier / divisor, unit_name)


def _to_measurement(classifier: str, field: str, amount: Decimal, unit: Any) -> Measurement | None:
    """Convert an amount to its field's unit. Return None if it means 'no value'.

    Raise MeterMessageError for an unknown unit or an implausible amount.
    """
    quantity = QUANTITIES[field]
    unit_name = next(iter(quantity.units)) if unit is None else unit
    factor = quantity.units.get(unit_name) if isinstance(unit_name, str) else None
    if factor is None:
        raise MeterMessageError(f"the unit of {field} is not one of {', '.join(quantity.units)}")
    if amount.copy_abs() > MAX_PARSED_AMOUNT or abs(value := amount * factor) > quantity.max_amount:
        raise MeterMessageError(f"{field} is more than {quantity.max_amount:,} {quantity.unit}")
    if (value == 0 and not quantity.allows_zero) or (field == "POWER" and value == NO_POWER_VALUE):
        return None
    return Measurement(classifier, field, value, quantity.unit)


def _without_none(values: list[Measurement | None]) -> tuple[Measurement, ...]:
    return tuple(value for value in values if value is not None)


class _PartParser:
    """Parses the parts of a message one by one. A part that fails adds a problem and does not affect the others."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def parse(self, parser: Callable[P, T | None], *args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return parser(*args, **kwargs)
        except MeterMessageError as problem:
            self.problems.append(str(problem))
            return None


def _parse_object(payload: bytes) -> Any:
    """Parse a payload as a JSON object, with exact decimals."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise MeterMessageError(TOO_LARGE)
    try:
        parsed = _parse_json(payload)
    except (ValueError, ArithmeticError, RecursionError):
        raise MeterMessageError("the message is not JSON") from None
    if not isinstance(parsed, dict):
        raise MeterMessageError("the message is not a JSON object")
    return parsed


def _parse_json(payload: bytes) -> Any:
    """Parse JSON, with `msgspec` unless it refuses the payload: `json` also takes UTF-16 and halves of surrogates."""
    try:
        return _DECODER.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return json.loads(payload, parse_float=Decimal, parse_constant=_reject_constant)


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _get_member(payload: Any, *path: str) -> Any:
    """Return the value at a path of members; None if any of them is missing or null."""
    value = payload
    for position, name in enumerate(path):
        if value.__class__ is not dict:
            if value is None:
                return None
            raise MeterMessageError(f"{'.'.join(path[:position])} is not an object")
        value = value.get(name)
    return value


def _parse_text(payload: Any, *path: str) -> str | None:
    """Parse a short text without control characters, which databases reject."""
    text = _get_member(payload, *path)
    if text is None:
        return None
    if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_TEXT_LENGTH:
        raise MeterMessageError(f"{'.'.join(path)} is not a short text")
    return text


def _parse_integer(payload: Any, *path: str) -> int | None:
    """Parse a whole number from -1000 to 1000."""
    number = _get_member(payload, *path)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > 1000:
        raise MeterMessageError(f"{'.'.join(path)} is not a small whole number")
    return number


def _parse_hexadecimal(payload: Any, *path: str) -> int | None:
    """Parse an unsigned hexadecimal number of at most 64 bits."""
    digits = _get_member(payload, *path)
    if digits is None:
        return None
    if not isinstance(digits, str) or not _HEXADECIMAL.fullmatch(digits):
        raise MeterMessageError(f"{'.'.join(path)} is not a hexadecimal number")
    return int(digits, 16)


def _parse_byte(payload: Any, *path: str) -> int | None:
    number = _parse_hexadecimal(payload, *path)
    if number is not None and number > 0xFF:
        raise MeterMessageError(f"{'.'.join(path)} is more than a byte")
    return number


def _parse_signed_byte(payload: Any, *path: str) -> int | None:
    number = _parse_byte(payload, *path)
    return number - 0x100 if number is not None and number > 0x7F else number


def _parse_hardware_id(text: str) -> str:
    if not text or not text.isprintable() or len(text) > MAX_TEXT_LENGTH:
        raise MeterMessageError("the topic has no hardware id")
    return text


def _parse_timestamp(text: Any) -> datetime:
    """Parse the timestamp of a local message.

    The arrival time cannot replace a missing timestamp, because brokers may deliver late.
    """
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise MeterMessageError("the timestamp is not ISO 8601 with a UTC offset")


def _parse_cloud_timestamp(payload: Any) -> datetime:
    """Parse the timestamp of a cloud message: seconds since 1970, as a number or in hexadecimal."""
    seconds = _get_member(payload, "gmtime")
    if seconds is None:
        seconds = _parse_hexadecimal(payload, "time")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 <= seconds < 1 << 32:
        raise MeterMessageError("neither gmtime nor time is a number of seconds since 1970")
    return EPOCH + timedelta(seconds=seconds)
