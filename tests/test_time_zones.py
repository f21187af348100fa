"""Names of time zones: the nearest zone is suggested for an unknown one, in every interface."""

import pytest

from tests.support.house import House
from tests.support.refusals import refusal_of
from wattgate.time_zones import MAX_SUGGESTION_LENGTH, nearest_time_zone, time_zone_problem

RANGE = '{start: "2026-01-05T00:00:00Z", end: "2026-01-06T00:00:00Z"}'


@pytest.mark.parametrize("zone", ["Europe/London", "America/New_York", "UTC", "Etc/GMT+1", "CET"])
def test_zone_has_no_problem(zone: str) -> None:
    assert time_zone_problem(zone) is None


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("Europe/Londn", "Europe/London"),
        ("Eurpoe/Londno", "Europe/London"),
        ("London", "Europe/London"),
        ("berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("america/new york ", "America/New_York"),
    ],
)
def test_nearest_zone_is_suggested(name: str, nearest: str) -> None:
    assert time_zone_problem(name) == f"{name!r} is not an IANA time zone. Did you mean {nearest}?"


@pytest.mark.parametrize(
    "name", ["", "Mars/Phobos", "../etc/passwd", "Europe/London" * MAX_SUGGESTION_LENGTH, "\0", "é"]
)
def test_no_zone_is_suggested_for_other_texts(name: str) -> None:
    assert time_zone_problem(name) == f"{name!r} is not an IANA time zone"


@pytest.mark.parametrize(
    "name", ["localtime", "posixrules", "Factory", "tzdata.zi", "leapseconds", "posix/Europe/London", "right/UTC"]
)
def test_names_that_differ_from_machine_to_machine_are_no_zones(name: str) -> None:
    """A system can have files beside the zones. Factory stands for a zone that nobody has set."""
    assert (time_zone_problem(name) or "").startswith(f"{name!r} is not an IANA time zone")


async def test_a_document_with_many_unknown_zones_is_not_searched(served: House) -> None:
    fields = [f'r{n}: readings(range: {RANGE}, period: P1D, timeZone: "Qa{n}") {{ unit }}' for n in range(45)]
    document = f"{{ viewer {{ resources {{ edges {{ node {{ {' '.join(fields)} }} }} }} }} }}"
    before = nearest_time_zone.cache_info().misses
    body = await served.graphql(document, served.one.headers["account"])
    assert "'Qa0' is not an IANA time zone" in " ".join(error["message"] for error in body["errors"])
    assert nearest_time_zone.cache_info().misses == before


async def test_both_interfaces_suggest_the_zone_of_a_home(served: House) -> None:
    tenant = served.one
    mutation = "mutation($input: NewHome!) { createHome(input: $input) { ... on Home { homeId } ...Refused } }"
    for name in ("Europe/Londn", "localtime", ""):
        home, type_id = {"name": "Mine", "timeZone": name}, tenant.ids["virtual_entity_type"]
        new_home = {**home, "homeTypeId": type_id}
        error = refusal_of(await served.graphql(mutation, tenant.headers["account"], input=new_home))
        body = {**home, "veTypeId": type_id}
        rest = await served.call("POST", "/virtualentity", tenant.headers["account"], json=body)
        message = time_zone_problem(name)
        assert error["problems"] == [{"path": ["input", "timeZone"], "message": message}]
        assert rest.json()["problems"] == [{"path": ["timeZone"], "message": message}]
        assert rest.status_code == 400
