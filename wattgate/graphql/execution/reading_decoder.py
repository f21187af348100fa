"""Decoder of the input type `NewReadings` from JSON values to columns, without an object for each reading.

It takes a value that is valid and in the usual form. For any other value it has no result: graphql-core then coerces
the whole value, and reports its errors.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
import numpy as np
from graphql import GraphQLInputObjectType, GraphQLInputType, GraphQLList, get_nullable_type
from strawberry import ID

from wattgate.energy.plain_columns import parse_instants, parse_numbers
from wattgate.energy.storage_fields import QUALITIES, QUALITY_CODES
from wattgate.operations.types.meters.readings import NewReading, NewReadings
from wattgate.operations.vocabulary.decoded_readings import DecodedReadings
from wattgate.operations.vocabulary.scalars import parse_datetime
from wattgate.values.decimals import parse_decimal

NEW_READINGS = "NewReadings"
"""The name of the decoded input type."""

DecodeInput = Callable[[Any], list[Any] | None]
"""Returns the input objects of a JSON value, or None if graphql-core has to coerce it."""


class PlainReading(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The JSON form of `NewReading`."""

    at: str
    value: int | float | str
    quality: Literal["ACTUAL", "ESTIMATED", "SUBSTITUTED", "QUESTIONABLE"] = "ACTUAL"


class PlainReadings(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The JSON form of `NewReadings`."""

    resource_id: str
    readings: list[PlainReading]
    field: str | None = None


_CODES_BY_NAME = {quality.name: code for quality, code in QUALITY_CODES.items()}


def input_decoder(type_: GraphQLInputType) -> DecodeInput | None:
    """Return the decoder of an input type, or None if it has none. Lists of `NewReadings` have one."""
    list_type = get_nullable_type(type_)
    if not isinstance(list_type, GraphQLList):
        return None
    item_type: Any = get_nullable_type(list_type.of_type)
    is_decoded = isinstance(item_type, GraphQLInputObjectType) and item_type.name == NEW_READINGS
    return decode_new_readings if is_decoded else None


def decode_new_readings(value: Any) -> list[NewReadings] | None:
    """Return the readings of a list of `NewReadings`, or None if graphql-core has to coerce it."""
    if not isinstance(value, list):
        return None
    try:
        series = msgspec.convert(value, list[PlainReadings])
    except msgspec.ValidationError:
        return None
    readings = [reading for entry in series for reading in entry.readings]
    at, value = parse_instants([reading.at for reading in readings]), parse_numbers([item.value for item in readings])
    if at is None or value is None:
        return None
    quality = np.array([_CODES_BY_NAME[reading.quality] for reading in readings], np.int64)
    decoded, start = [], 0
    for entry in series:
        end = start + len(entry.readings)
        build_item = partial(_build_reading, entry.readings)
        columns: Any = DecodedReadings(at[start:end], value[start:end], quality[start:end], build_item)
        decoded.append(NewReadings(resource_id=ID(entry.resource_id), readings=columns, field=entry.field))
        start = end
    return decoded


def _build_reading(readings: list[PlainReading], index: int) -> NewReading:
    """Return a reading as graphql-core and Strawberry do."""
    reading = readings[index]
    quality = QUALITIES[_CODES_BY_NAME[reading.quality]]
    return NewReading(at=parse_datetime(reading.at), value=parse_decimal(reading.value), quality=quality)
