"""No statement finds records by meter point or hardware ID without asking whose they are.

Each function that looks for readings, resources, devices or consents by the number of a meter point, or by an ID of a
device, is in a table here. The table gives the rule that bounds its result to the household that lives there. A new
one fails this test until it is in the table.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "wattgate"
ELSEWHERE = ("db/migrations/", "db/models/", "energy/")
"""Folders without statements of the gateway: migrations, the tables themselves, and calculations."""

SPELLINGS = {"meter_point_spellings", "hardware_id_spellings", "CONSENTS_BY_METER_POINT"}
COLUMNS = {"mpxn", "hardware_key", "eui", "mac", "serial_number"}
NETWORK = {"readings", "register", "devices_at", "device"}
"""Requests to the meter network, which knows meter points and devices but no households."""

OWN = "Rows of the caller's user only."
TENANCY = "It asks who lives there."
CONSENT = "The consent of the user at the meter point, which ends with the tenancy."
BOUNDS = "Only in the bounds of the resource: since the household moved in, with a valid consent."
SYSTEM = "The operator's own command."
NETWORK_ITSELF = "The records of the network. Its callers are in this table."

LOOKUPS = {
    "app/homes/applications.py:_matches": SYSTEM,
    "app/homes/state.py:load_home_state": SYSTEM,
    "app/homes/table_devices.py:load_device_state": SYSTEM,
    **dict.fromkeys(
        (
            f"db/meter_network.py:{function}"
            for function in ("meter_point", "devices_at", "device", "readings", "register")
        ),
        NETWORK_ITSELF,
    ),
    "db/queries/consent.py:peek_consent": CONSENT,
    "db/queries/consent.py:find_own_meter_point_error": CONSENT,
    "db/queries/tenancies.py:consent_gaps": CONSENT,
    "db/queries/tenancies.py:find_home_at": OWN,
    "db/queries/tenancies.py:lives_at": TENANCY,
    "db/queries/tenancies.py:left_behind": TENANCY,
    "db/queries/tenancies.py:meter_points_left": TENANCY,
    "db/queries/tenancies.py:others_lived_since": TENANCY,
    "operations/devices/catch_ups.py:_consented_page": BOUNDS,
    "operations/consent/consent.py:consent_changes": OWN,
    "operations/consent/consent.py:_consent_ids": OWN,
    "operations/devices/device_changes.py:_check_hardware_id": "It finds nothing: it checks the text.",
    "operations/devices/devices.py:meter_point_inventory": CONSENT,
    "operations/devices/devices.py:smart_meter_inventory": CONSENT,
    "operations/devices/devices.py:_find_in_network": CONSENT,
    "operations/devices/eligibility.py:has_consumer_device": "A user needs an open resource there: `require_access`.",
    "operations/devices/eligibility.py:_find_display": "Its callers need an open resource there.",
    "operations/flexibility.py:_active_opt_ins": "Enrolments of the user. They end with the tenancy.",
    "operations/readings/meter_messages.py:_load_displays": "Not before the owner had the device or moved in.",
    "operations/devices/meter_points.py:resources_at": "Open resources of the caller, which close at the end.",
    "db/queries/series/raw_readings.py:_meter_read": BOUNDS,
    "operations/consent/consent_records.py:find_consent": OWN,
    "operations/consent/consent_records.py:resources_of": OWN,
    "operations/types/consent.py:consents_of_resources": CONSENT,
    "operations/devices/device_changes.py:find_claim": "A claim needs its code.",
    "operations/devices/device_changes.py:_is_in_inventory": TENANCY,
    "operations/devices/device_records.py:find_by_any_id": "Open devices of the caller. A device has one owner.",
    "db/queries/devices.py:has_any_id": "A condition for the devices of the caller.",
    "operations/devices/device_records.py:close_other_holders": "It returns nothing: the new owner has proof.",
    "operations/devices/device_records.py:_was_closed": "Devices that the caller has removed, or whether others have.",
    **dict.fromkeys(
        (
            f"operations/tenancies/tenancies.py:{function}"
            for function in ("lock_tenancies", "_open_of", "end_flexibility", "end_tenancy", "resources_of_tenancy")
        ),
        TENANCY,
    ),
    **dict.fromkeys(
        (
            f"operations/tenancies/tenancy_plans.py:{function}"
            for function in ("is_at", "tenancies_at", "load_departure")
        ),
        TENANCY,
    ),
    "db/queries/series/costs.py:load_following": "Resources of the same household.",
    "operations/messages/account_mails.py:_has_moved_in_again": TENANCY,
    "operations/flexibility.py:_leave_events": "Participations of the caller.",
    "operations/tenancies/listed_tenancies.py:_make_room": TENANCY,
    "operations/tenancies/listed_tenancies.py:_open_consent": TENANCY,
}
"""Each lookup, and the rule that bounds it to the household that lives there."""


def test_every_lookup_by_meter_point_or_device_asks_whose_it_is() -> None:
    found = {name for path in sorted(PACKAGE.rglob("*.py")) for name in lookups_of(path)}
    assert found - LOOKUPS.keys() == set(), "who may find this, and of which time?"
    assert LOOKUPS.keys() - found == set(), "not a lookup any more"


def lookups_of(path: Path) -> Iterator[str]:
    """Yield the functions of a module that look for records by meter point or device, as `module:function`."""
    module = str(path.relative_to(PACKAGE))
    if module.startswith(ELSEWHERE):
        return
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        if any(is_lookup(node) for node in ast.walk(function)):
            yield f"{module}:{function.name}"


def is_lookup(node: ast.AST) -> bool:
    """Return whether a node names spellings, compares a column with an ID, or asks the meter network."""
    if isinstance(node, ast.Name):
        return node.id in SPELLINGS
    if isinstance(node, ast.Attribute):
        if node.attr in SPELLINGS:
            return True
        return node.attr in NETWORK and isinstance(node.value, ast.Attribute) and node.value.attr == "network"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "col":
        return any(isinstance(argument, ast.Attribute) and argument.attr in COLUMNS for argument in node.args)
    return False
