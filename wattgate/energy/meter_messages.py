"""What in-home displays publish over MQTT, read as values: tables and pure functions.

Two dialects: the local one, which a display speaks to a broker in the home, and the cloud's, which carries attributes
of the ZigBee metering cluster as hexadecimal numbers.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, TypeVar

from wattgate.clock import EPOCH
from wattgate.energy.network_state import NetworkState

P = ParamSpec("P")
T = TypeVar("T")

_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,16}")

MAX_PAYLOAD = 64 * 1024
"""Bytes of the largest message that is read; real ones have less than two thousand."""

MAX_TEXT = 64


class Unreadable(ValueError):
    """A message, or a part of one, that is not what displays send; the message says why."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One value of a message, in the unit of its field: `unit` is W, kWh, m3 or pence."""

    classifier: str
    field: str
    value: Decimal
    unit: str


@dataclass(frozen=True, slots=True)
class MeterMessage:
    """What a display says at some instant: what its meters measure, and what it says of itself.

    `unreadable` says what else stood in the message and could not be read.
    """

    hardware_id: str
    at: datetime
    values: tuple[Measured, ...] = ()
    state: NetworkState | None = None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantity:
    """A storage field that messages fill: its unit, the largest amount that is believed, and whether 0 is one.

    `units` are those that messages use, with what turns them into the field's; the first is meant where none is named.
    """

    unit: str
    most: int
    units: Mapping[str, Decimal]
    zero: bool = False


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        # the attribute that power comes from has 24 bits
        "POWER": Quantity("W", 2**23, {"kW": Decimal(1000), "W": Decimal(1)}, zero=True),
        # registers have at most eight digits before the point; old firmware tells gas in the billions
        "REGISTER": Quantity("kWh", 10**8, {"kWh": Decimal(1), "Wh": Decimal("0.001")}),
        "VOLUME": Quantity("m3", 10**8, {"m3": Decimal(1)}),
        "RATE": Quantity("pence", 10**6, {"pounds": Decimal(100)}),
        "STANDING": Quantity("pence", 10**6, {"pounds": Decimal(100)}),
    }
)
"""The fields by whose names a resource type opts in. A zero register or price is told before the display knows it."""

FAR_TOO_MUCH = 10**12
"""More than the largest amount in any unit: beyond it, not even arithmetic is tried."""

NO_POWER = Decimal(-(2**23))
"""The power in W that stands for none (-8388.608 kW): the least number of a signed 24-bit attribute."""


@dataclass(frozen=True, slots=True)
class Told:
    """Where a value stands in a meter's part of a local message, and what it is."""

    path: tuple[str, ...]
    unit: tuple[str, ...] | None
    classifier: str
    field: str


def _energy(classifier: str) -> tuple[Told, ...]:
    imported = ("energy", "import")
    return (
        Told((*imported, "cumulative"), (*imported, "units"), classifier, "REGISTER"),
        Told((*imported, "price", "unitrate"), None, classifier, "RATE"),
        Told((*imported, "price", "standingcharge"), None, classifier, "STANDING"),
    )


ELECTRICITY, EXPORT, GAS = "electricity.consumption", "electricity.export", "gas.consumption"

LOCAL: Mapping[str, tuple[Told, ...]] = MappingProxyType(
    {
        "electricitymeter": (
            Told(("power", "value"), ("power", "units"), ELECTRICITY, "POWER"),
            *_energy(ELECTRICITY),
            Told(("energy", "export", "cumulative"), ("energy", "export", "units"), EXPORT, "REGISTER"),
        ),
        # power and export of gas, which old firmware tells, are nothing that a gas meter measures
        "gasmeter": (
            *_energy(GAS),
            Told(("energy", "import", "cumulativevol"), ("energy", "import", "cumulativevolunits"), GAS, "VOLUME"),
        ),
    }
)

METERING = "0702"
REGISTERS: Mapping[str, tuple[tuple[tuple[str, str], str], ...]] = MappingProxyType(
    {
        "elecMtr": ((("00", "00"), ELECTRICITY), (("00", "01"), EXPORT)),
        "gasMtr": ((("00", "00"), GAS),),
    }
)
"""By meter of a cloud message: the set and attribute of each cumulative register in the metering cluster."""

UNIT, MULTIPLIER, DIVISOR, DEMAND = ("03", "00"), ("03", "01"), ("03", "02"), ("04", "00")
CLOUD_UNITS: Mapping[int, tuple[str, str]] = MappingProxyType({0: ("REGISTER", "kWh"), 1: ("VOLUME", "m3")})
"""By the attribute UNIT: the field that a register fills, and its unit."""


def read_message(topic: str, payload: bytes) -> MeterMessage:
    """What a message says. Unreadable where it is none of a display, or says nothing that can be dated."""
    match topic.split("/"):
        case [*_, mac, "SENSOR", ("electricitymeter" | "gasmeter") as meter]:
            return _local(_hardware_id(mac), meter, _object(payload))
        case [*_, mac, "STATE"]:
            return _state(_hardware_id(mac), _object(payload))
        case ["SMART", _, hardware_id]:
            return _cloud(_hardware_id(hardware_id), _object(payload))
    raise Unreadable("the topic is none that displays publish on")


def _local(hardware_id: str, meter: Literal["electricitymeter", "gasmeter"], payload: Any) -> MeterMessage:
    part = _at(payload, meter)
    if part is None:
        raise Unreadable(f"{meter} is missing")
    at, parts = _instant(_at(payload, meter, "timestamp")), _Parts()
    values = [parts.read(_told, part, told) for told in LOCAL[meter]]
    return MeterMessage(hardware_id, at, _known(values), unreadable=tuple(parts.problems))


def _told(part: Any, told: Told) -> Measured | None:
    number = _at(part, *told.path)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | Decimal):
        raise Unreadable(f"{'.'.join(told.path)} is not a number")
    unit = None if told.unit is None else _at(part, *told.unit)
    return _measured(told.classifier, told.field, Decimal(number), unit)


def _state(hardware_id: str, payload: Any) -> MeterMessage:
    at, parts = _instant(_at(payload, "timestamp")), _Parts()
    state = NetworkState(
        at=at,
        software=parts.read(_text, payload, "software"),
        hardware=parts.read(_text, payload, "hardware"),
        smets_version=parts.read(_text, payload, "smetsversion"),
        rssi=parts.read(_whole, payload, "han", "rssi"),
        lqi=parts.read(_whole, payload, "han", "lqi"),
        status=parts.read(_text, payload, "han", "status"),
    )
    return MeterMessage(hardware_id, at, state=state, unreadable=tuple(parts.problems))


def _cloud(hardware_id: str, payload: Any) -> MeterMessage:
    at, parts = _cloud_instant(payload), _Parts()
    values = [parts.read(_demand, payload)]
    for meter, registers in REGISTERS.items():
        values += [parts.read(_register, payload, meter, place, classifier) for place, classifier in registers]
    state = NetworkState(
        at=at,
        hardware=parts.read(_text, payload, "hversion"),
        smets_version=parts.read(_text, payload, "smetsVer"),
        rssi=parts.read(_signed_byte, payload, "pan", "rssi"),
        lqi=parts.read(_byte, payload, "pan", "lqi"),
        status=parts.read(_text, payload, "pan", "status"),
    )
    said = state if _at(payload, "pan") is not None else None
    return MeterMessage(hardware_id, at, _known(values), said, tuple(parts.problems))


def _demand(payload: Any) -> Measured | None:
    """The power. It has 24 bits with a sign, and comes with or without the sign in further bits before them."""
    bits = _hexadecimal(payload, "elecMtr", METERING, *DEMAND)
    if bits is None:
        return None
    if bits >> 24 not in (0, 0xFF):
        raise Unreadable("the demand has more than 24 bits")
    low = bits & 0xFFFFFF
    return _measured(ELECTRICITY, "POWER", Decimal(low - (1 << 24) if low >> 23 else low), "W")


def _register(payload: Any, meter: str, place: tuple[str, str], classifier: str) -> Measured | None:
    """A cumulative register, by the unit and scale that its own message names."""
    counted = _hexadecimal(payload, meter, METERING, *place)
    if counted is None or counted == (1 << 48) - 1:  # all ones: the meter has none
        return None
    unit, multiplier, divisor = (_hexadecimal(payload, meter, METERING, *one) for one in (UNIT, MULTIPLIER, DIVISOR))
    meant = CLOUD_UNITS.get(unit) if unit is not None else None
    if meant is None or not multiplier or not divisor:
        raise Unreadable(f"{meter} names no unit and scale for its register")
    field, name = meant
    return _measured(classifier, field, Decimal(counted) * multiplier / divisor, name)


def _measured(classifier: str, field: str, amount: Decimal, unit: Any) -> Measured | None:
    """An amount in its field's own unit, or None where it stands for no value. Unreadable where none could be it."""
    quantity = QUANTITIES[field]
    named = next(iter(quantity.units)) if unit is None else unit
    factor = quantity.units.get(named) if isinstance(named, str) else None
    if factor is None:
        raise Unreadable(f"the unit of {field} is none of {', '.join(quantity.units)}")
    if amount.copy_abs() > FAR_TOO_MUCH or abs(value := amount * factor) > quantity.most:
        raise Unreadable(f"{field} is more than {quantity.most:,} {quantity.unit}")
    if (value == 0 and not quantity.zero) or (field == "POWER" and value == NO_POWER):
        return None
    return Measured(classifier, field, value, quantity.unit)


def _known(values: list[Measured | None]) -> tuple[Measured, ...]:
    return tuple(value for value in values if value is not None)


class _Parts:
    """Reads the parts of a message one by one: what is wrong with one leaves the others as they are."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def read(self, how: Callable[P, T | None], *args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return how(*args, **kwargs)
        except Unreadable as problem:
            self.problems.append(str(problem))
            return None


def _object(payload: bytes) -> Any:
    """The JSON object of a payload, with exact decimals."""
    if len(payload) > MAX_PAYLOAD:
        raise Unreadable(f"it has more than {MAX_PAYLOAD:,} bytes")
    try:
        told = json.loads(payload, parse_float=Decimal, parse_constant=_no_number)
    except (ValueError, ArithmeticError, RecursionError):
        raise Unreadable("it is not JSON") from None
    if not isinstance(told, dict):
        raise Unreadable("it is not a JSON object")
    return told


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _at(payload: Any, *path: str) -> Any:
    """What stands at a path of members; None where any of them is missing or null."""
    found = payload
    for position, name in enumerate(path):
        if found is None:
            return None
        if not isinstance(found, dict):
            raise Unreadable(f"{'.'.join(path[:position])} is not an object")
        found = found.get(name)
    return found


def _text(payload: Any, *path: str) -> str | None:
    """A short text without control characters, which no database takes."""
    text = _at(payload, *path)
    if text is None:
        return None
    if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_TEXT:
        raise Unreadable(f"{'.'.join(path)} is not a short text")
    return text


def _whole(payload: Any, *path: str) -> int | None:
    """A small whole number."""
    number = _at(payload, *path)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or abs(number) > 1000:
        raise Unreadable(f"{'.'.join(path)} is not a small whole number")
    return number


def _hexadecimal(payload: Any, *path: str) -> int | None:
    """A number of at most 64 bits, without a sign."""
    digits = _at(payload, *path)
    if digits is None:
        return None
    if not isinstance(digits, str) or not _HEXADECIMAL.fullmatch(digits):
        raise Unreadable(f"{'.'.join(path)} is not a hexadecimal number")
    return int(digits, 16)


def _byte(payload: Any, *path: str) -> int | None:
    number = _hexadecimal(payload, *path)
    if number is not None and number > 0xFF:
        raise Unreadable(f"{'.'.join(path)} is more than a byte")
    return number


def _signed_byte(payload: Any, *path: str) -> int | None:
    number = _byte(payload, *path)
    return number - 0x100 if number is not None and number > 0x7F else number


def _hardware_id(text: str) -> str:
    if not text or not text.isprintable() or len(text) > MAX_TEXT:
        raise Unreadable("the topic names no hardware id")
    return text


def _instant(text: Any) -> datetime:
    """The instant of a local message. A message without one is not dated by its arrival: brokers deliver late."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Unreadable("its timestamp is not ISO 8601 with a UTC offset")


def _cloud_instant(payload: Any) -> datetime:
    """The instant of a cloud message: seconds since 1970, as a number or else in hexadecimal."""
    seconds = _at(payload, "gmtime")
    if seconds is None:
        seconds = _hexadecimal(payload, "time")
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 <= seconds < 1 << 32:
        raise Unreadable("neither gmtime nor time says when it was measured")
    return EPOCH + timedelta(seconds=seconds)
