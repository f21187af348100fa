"""What storage definitions say about values."""

from decimal import Decimal
from typing import TypedDict, Unpack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.clock import from_ms
from wattgate.db.models import StorageDefinition, StorageField
from wattgate.energy.storage_fields import MAX_SCALED, Field, Refused, fields_of
from wattgate.energy.storage_limits import Limits


class Changes(TypedDict, total=False):
    """Members of a definition."""

    type: str
    sampling: str
    start: str
    interval: str


def defined(datatype: str = "fixedpoint(3)", negative: bool = False, **changes: Unpack[Changes]) -> tuple[Field, ...]:
    field = StorageField(field_name="ENERGY", unit="kWh", datatype=datatype, negative=negative)
    given: Changes = {"type": "timeseries", "sampling": "regular", "start": "2014-01-06T00:00:00+00:00", **changes}
    return fields_of([StorageDefinition(fields=[field], **given)])


@pytest.mark.parametrize(
    ("datatype", "decimals"),
    [("fixedpoint(2)", 2), ("FixedPoint(0)", 0), ("DECIMAL(15,5)", 5), ("decimal(15, 5)", 5), ("integer", 0)],
)
def test_the_datatypes_that_are_known(datatype: str, decimals: int) -> None:
    assert defined(datatype)[0].decimals == decimals


@pytest.mark.parametrize("datatype", ["", "float", "fixedpoint", "fixedpoint(10)", "fixedpoint(-1)", "text(3)"])
def test_a_datatype_that_is_not_known_is_refused(datatype: str) -> None:
    with pytest.raises(Refused):
        defined(datatype)


@pytest.mark.parametrize(
    ("interval", "milliseconds"),
    [("PT30M", 1_800_000), ("PT1H", 3_600_000), ("PT10S", 10_000), ("P1D", 86_400_000), ("PT1H30M", 5_400_000)],
)
def test_the_grid_of_regular_sampling(interval: str, milliseconds: int) -> None:
    assert defined(interval=interval)[0].interval_ms == milliseconds


def test_regular_sampling_without_an_interval_is_half_hourly_and_irregular_has_no_grid() -> None:
    assert defined()[0].interval_ms == 1_800_000
    assert defined(sampling="irregular")[0].interval_ms is None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "histogram"},
        {"sampling": "random"},
        {"interval": "1 hour"},
        {"interval": "PT0S"},
        {"interval": "P2D"},
        {"start": "2014"},
        {"start": "2014-01-06T00:00:00"},
        {"start": "soon"},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(changes: Changes) -> None:
    with pytest.raises(Refused):
        defined(**changes)


def test_a_type_without_fields_and_one_with_a_name_twice_are_refused() -> None:
    field = StorageField(field_name="ENERGY", unit="kWh", datatype="integer")
    for fields in ([], [field, field]):
        with pytest.raises(Refused):
            fields_of([StorageDefinition("timeseries", "regular", "2014-01-06T00:00:00Z", fields)])


@given(st.integers(-MAX_SCALED, MAX_SCALED), st.integers(0, 9))
def test_every_value_that_fits_comes_back_as_it_was(scaled: int, decimals: int) -> None:
    (field,) = defined(f"fixedpoint({decimals})", negative=True)
    value = Decimal(scaled).scaleb(-decimals)
    assert field.scaled(value) == scaled
    assert Decimal(repr(field.number(scaled))) == value


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1000000000000", "0.0001", "-0.001"])
def test_a_value_that_does_not_fit_is_refused(value: str) -> None:
    with pytest.raises(Refused):
        defined()[0].scaled(Decimal(value))


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
def test_many_readings_at_once_are_taken_exactly_as_one_by_one(given: list[tuple[int, float, int]]) -> None:
    known = [
        *defined("fixedpoint(3)", negative=True),
        *defined("integer", interval="PT10M"),
        *defined("fixedpoint(9)", sampling="irregular"),
        *defined("fixedpoint(5)", negative=True, sampling="irregular"),
    ]
    now = known[0].start_ms + 10**12
    oldest = [0, known[1].start_ms + 600_000, 0, 0]
    places = np.array([place % len(known) for place, _, _ in given])
    at = np.array([known[place % len(known)].start_ms + ahead for place, _, ahead in given])
    values = np.array([value for _, value, _ in given])
    scaled, good = Limits.of(known, oldest).taken(places, at, values, now)
    for place, ms, value, stored, taken in zip(places, at, values, scaled, good, strict=True):
        try:
            field = known[place]
            field.stamp(from_ms(int(ms)), now)
            alone = field.scaled(Decimal(repr(float(value))))
            assert bool(taken) == (ms >= oldest[place])
            assert not taken or stored == alone
        except Refused:
            assert not taken


@pytest.mark.parametrize(("interval", "hourly"), [("PT30M", False), ("PT15M", False), ("PT10M", True), ("PT10S", True)])
def test_hours_are_rolled_up_where_there_are_more_than_four_samples_in_one(interval: str, hourly: bool) -> None:
    assert defined(interval=interval)[0].hourly is hourly
    assert defined(sampling="irregular")[0].hourly
