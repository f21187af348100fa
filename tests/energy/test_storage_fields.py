"""Storage definitions: parsing, and checks of values."""

from decimal import Decimal
from typing import TypedDict, Unpack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import from_ms
from wattgate.db.models import StorageDefinition, StorageField
from wattgate.energy.storage_fields import MAX_STORED_VALUE, ReadingField, StorageError, StorageLimits, parse_fields


class Changes(TypedDict, total=False):
    """Members of a storage definition to replace."""

    type: str
    sampling: str
    start: str
    interval: str


def parse_field(
    datatype: str = "fixedpoint(3)", negative: bool = False, **changes: Unpack[Changes]
) -> tuple[ReadingField, ...]:
    field = StorageField(field_name="ENERGY", unit="kWh", datatype=datatype, negative=negative)
    definition: Changes = {"type": "timeseries", "sampling": "regular", "start": "2014-01-06T00:00:00+00:00", **changes}
    return parse_fields([StorageDefinition(fields=(field,), **definition)])


@pytest.mark.parametrize(
    ("datatype", "decimals"),
    [("fixedpoint(2)", 2), ("FixedPoint(0)", 0), ("DECIMAL(15,5)", 5), ("decimal(15, 5)", 5), ("integer", 0)],
)
def test_known_datatypes_have_their_decimals(datatype: str, decimals: int) -> None:
    assert parse_field(datatype)[0].decimals == decimals


@pytest.mark.parametrize("datatype", ["", "float", "fixedpoint", "fixedpoint(10)", "fixedpoint(-1)", "text(3)"])
def test_unknown_datatype_is_rejected(datatype: str) -> None:
    with pytest.raises(StorageError):
        parse_field(datatype)


@pytest.mark.parametrize(
    ("interval", "milliseconds"),
    [("PT30M", 1_800_000), ("PT1H", 3_600_000), ("PT10S", 10_000), ("P1D", 86_400_000), ("PT1H30M", 5_400_000)],
)
def test_interval_of_regular_sampling_is_parsed(interval: str, milliseconds: int) -> None:
    assert parse_field(interval=interval)[0].interval_ms == milliseconds


def test_default_interval_is_half_an_hour_and_irregular_sampling_has_none() -> None:
    assert parse_field()[0].interval_ms == 1_800_000
    assert parse_field(sampling="irregular")[0].interval_ms is None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "histogram"},
        {"sampling": "random"},
        {"interval": "1 hour"},
        {"interval": "PT0S"},
        {"interval": "P2D"},
        {"interval": "PT%sS" % ("9" * 5_000)},
        {"datatype": "fixedpoint(%s)" % ("9" * 5_000)},
        {"start": "2014"},
        {"start": "2014-01-06T00:00:00"},
        {"start": "soon"},
    ],
)
def test_invalid_definition_is_rejected(changes: Changes) -> None:
    with pytest.raises(StorageError):
        parse_field(**changes)


def test_missing_and_duplicate_fields_are_rejected() -> None:
    field = StorageField(field_name="ENERGY", unit="kWh", datatype="integer")
    for fields in ((), (field, field)):
        with pytest.raises(StorageError):
            parse_fields([StorageDefinition("timeseries", "regular", "2014-01-06T00:00:00Z", fields)])


@given(st.integers(-MAX_STORED_VALUE, MAX_STORED_VALUE), st.integers(0, 9))
def test_every_valid_value_round_trips(scaled: int, decimals: int) -> None:
    (field,) = parse_field(f"fixedpoint({decimals})", negative=True)
    value = Decimal(scaled).scaleb(-decimals)
    assert field.to_stored(value) == scaled
    assert Decimal(repr(field.from_stored(scaled))) == value


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1000000000000", "0.0001", "-0.001"])
def test_invalid_value_is_rejected(value: str) -> None:
    with pytest.raises(StorageError):
        parse_field()[0].to_stored(Decimal(value))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.one_of(st.floats(), st.integers(-(10**6), 10**6).map(lambda n: n / 1000), st.decimals(-9, 9).map(float)),
            st.sampled_from([0, 1, 1_800_000, 600_000, -1, 10**13]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_batch_of_readings_is_checked_like_single_readings(readings: list[tuple[int, float, int]]) -> None:
    fields = [
        *parse_field("fixedpoint(3)", negative=True),
        *parse_field("integer", interval="PT10M"),
        *parse_field("fixedpoint(9)", sampling="irregular"),
        *parse_field("fixedpoint(5)", negative=True, sampling="irregular"),
    ]
    now = fields[0].start_ms + 10**12
    oldest = [0, fields[1].start_ms + 600_000, 0, 0]
    field_indexes = np.array([field_index % len(fields) for field_index, _, _ in readings])
    at = np.array([fields[field_index % len(fields)].start_ms + ahead for field_index, _, ahead in readings])
    values = np.array([value for _, value, _ in readings])
    scaled, valid = StorageLimits.from_fields(fields, oldest).encode(field_indexes, at, values, now)
    for field_index, at_ms, value, stored, is_valid in zip(field_indexes, at, values, scaled, valid, strict=True):
        try:
            field = fields[field_index]
            field.to_stored_ms(from_ms(int(at_ms)), now)
            expected = field.to_stored(Decimal(repr(float(value))))
            assert bool(is_valid) == (at_ms >= oldest[field_index])
            assert not is_valid or stored == expected
        except StorageError:
            assert not is_valid


@pytest.mark.parametrize(("interval", "hourly"), [("PT30M", False), ("PT15M", False), ("PT10M", True), ("PT10S", True)])
def test_hours_with_more_than_four_samples_are_rolled_up(interval: str, hourly: bool) -> None:
    assert parse_field(interval=interval)[0].has_hourly_rollup is hourly
    assert parse_field(sampling="irregular")[0].has_hourly_rollup
