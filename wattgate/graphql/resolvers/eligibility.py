"""Smart meter eligibility: what the meter network says of a meter point or a display. Nothing is stored."""

from dataclasses import dataclass

import strawberry

from wattgate.db.meter_network import InventoryDevice
from wattgate.energy import meter_points
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.graphql.core.operation import Call, Kind, Rest, operation
from wattgate.graphql.resolvers.meter_points import allow, given_number, is_own
from wattgate.graphql.types import devices as types
from wattgate.principal import Permission

CONSUMER_DEVICES = frozenset({"CAD", "PPMID"})
DISPLAYS = frozenset({"IHD", "PPMID", "CAD"})
"""Displays join the network as one of these; one that forwards readings is also a consumer access device."""

COMMISSIONED = "commissioned"


@dataclass(frozen=True, slots=True)
class Eligibility:
    valid: bool


@operation(
    Kind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=Rest("POST", "/eligibility/smets-ihd-cad"),
)
async def has_consumer_device(call: Call, *, mpxn: strawberry.ID) -> Eligibility:
    """Whether a meter point has a consumer access device or a prepayment meter interface device in use."""
    number = await allow(call, given_number(mpxn, "mpxn"))
    found = await call.network.devices_at(number)
    return Eligibility(any(one.device_type in CONSUMER_DEVICES and one.status.lower() == COMMISSIONED for one in found))


@operation(
    Kind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=Rest("POST", "/eligibility/checksmetsihd/postcode"),
)
async def display_at_postcode(call: Call, *, postcode: str, eui: str) -> Eligibility:
    """Whether the in-home display with this EUI stands at a postcode."""
    display = await _display(call, eui)
    if call.rows.user_id is not None and not (display and await is_own(call, display.mpxn)):
        raise NotFound(f"no display with EUI {eui}")  # a stranger's display and none are alike
    point = await call.network.meter_point(display.mpxn) if display else None
    return Eligibility(point is not None and point.postcode == meter_points.postcode(postcode))


@operation(
    Kind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=Rest("POST", "/eligibility/checksmetsihd"),
)
async def display_at_meter_point(call: Call, *, mpxn: strawberry.ID, eui: str) -> Eligibility:
    """Whether the in-home display with this EUI belongs to a meter point."""
    number = await allow(call, given_number(mpxn, "mpxn"))
    display = await _display(call, eui)
    return Eligibility(display is not None and display.mpxn == number)


@operation(
    Kind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=Rest("POST", "/eligibility/checksmetsmpxn"),
)
async def meter_point_eligible(call: Call, *, mpxn: strawberry.ID) -> Eligibility:
    """Whether a meter point can be served through the data communications company's network."""
    point = await call.network.meter_point(await allow(call, given_number(mpxn, "mpxn")))
    return Eligibility(point is not None and point.eligible)


async def _display(call: Call, eui: str) -> InventoryDevice | None:
    """The in-home display with this EUI, if the network knows it as one."""
    number = meter_points.eui(eui)
    if number is None:
        problem = Problem(("eui",), "is not an EUI-64 of 16 hexadecimal digits")
        raise BadInput("the display is not named", problems=[problem])
    found = await call.network.device(number)
    return found if found and found.device_type in DISPLAYS else None
