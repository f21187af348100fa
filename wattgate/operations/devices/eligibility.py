"""Eligibility checks of meter points and displays against the meter network. They store nothing."""

from typing import Annotated

from wattgate.db.meter_network import MeterNetworkDevice
from wattgate.energy.meters import meter_points
from wattgate.errors import BadInput, NotFound, Problem
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.devices.meter_points import (
    parse_meter_point,
    record_network_read,
    require_access,
    resources_at,
)
from wattgate.operations.types.meters import devices as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

CONSUMER_DEVICES = frozenset({"CAD", "PPMID"})
DISPLAY_DEVICE_TYPES = frozenset({"IHD", "PPMID", "CAD"})
"""Device types of displays in the meter network. A display that forwards readings is also a consumer access device."""

COMMISSIONED = "commissioned"


@operation(
    OperationKind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=RestRoute("POST", "/eligibility/smets-ihd-cad", Tag.ELIGIBILITY),
    raises=(NotFound,),
)
async def has_consumer_device(call: Call, *, mpxn: ids.Mpxn) -> types.Eligibility:
    """Check whether a meter point has a consumer access device or a prepayment interface device (PPMID) in use."""
    number = await require_access(call, parse_meter_point(mpxn, "mpxn"))
    devices = await call.network.devices_at(number)
    in_use = {device.device_type for device in devices if device.status.lower() == COMMISSIONED}
    return types.Eligibility(valid=not in_use.isdisjoint(CONSUMER_DEVICES))


@operation(
    OperationKind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=RestRoute("POST", "/eligibility/checksmetsihd/postcode", Tag.ELIGIBILITY),
    raises=(NotFound,),
)
async def display_at_postcode(
    call: Call, *, postcode: Annotated[terms.Text100, Described("Postcode, in any case and spacing.")], eui: terms.Eui
) -> types.Eligibility:
    """Check whether the in-home display with this EUI is at a postcode."""
    display = await _find_display(call, eui)
    resources = await resources_at(call, display.mpxn) if display else []
    if call.rows.user_id is not None and not resources:
        raise NotFound(f"No display with EUI {eui}.")  # the error must not reveal whether the display exists
    record_network_read(call, resources)
    point = await call.network.meter_point(display.mpxn) if display else None
    return types.Eligibility(valid=point is not None and point.postcode == meter_points.normalize_postcode(postcode))


@operation(
    OperationKind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=RestRoute("POST", "/eligibility/checksmetsihd", Tag.ELIGIBILITY),
    raises=(NotFound,),
)
async def display_at_meter_point(call: Call, *, mpxn: ids.Mpxn, eui: terms.Eui) -> types.Eligibility:
    """Check whether the in-home display with this EUI belongs to a meter point."""
    number = await require_access(call, parse_meter_point(mpxn, "mpxn"))
    display = await _find_display(call, eui)
    return types.Eligibility(valid=display is not None and display.mpxn == number)


@operation(
    OperationKind.QUERY,
    returns=types.Eligibility,
    needs=Permission.ELIGIBILITY_CHECK,
    rest=RestRoute("POST", "/eligibility/checksmetsmpxn", Tag.ELIGIBILITY),
    raises=(NotFound,),
)
async def meter_point_eligible(call: Call, *, mpxn: ids.Mpxn) -> types.Eligibility:
    """Check whether the data communications company's (DCC) network serves a meter point."""
    point = await call.network.meter_point(await require_access(call, parse_meter_point(mpxn, "mpxn")))
    return types.Eligibility(valid=point is not None and point.eligible)


async def _find_display(call: Call, eui: str) -> MeterNetworkDevice | None:
    """Return the display with this EUI; None if the network lists none. Raise BadInput if the EUI is malformed."""
    number = meter_points.parse_eui(eui)
    if number is None:
        problem = Problem(("eui",), "is not an EUI-64 of 16 hexadecimal digits")
        raise BadInput(f"Invalid EUI {eui!r}. See `problems`.", problems=[problem])
    device = await call.network.device(number)
    return device if device and device.device_type in DISPLAY_DEVICE_TYPES else None
