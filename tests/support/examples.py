"""Example variables for every operation of the catalogue, by operation name.

Each call of an example creates the records that the operation changes or deletes.
"""

from base64 import b64encode
from typing import Any
from uuid import uuid4

from tests.support import examples_areas, examples_devices, examples_users, people
from tests.support.example import NOTHING, Example, by_id, fixed
from tests.support.house import PASSWORD, STORAGE, Tenant
from tests.support.metering import metered
from wattgate.enums import TariffKind
from wattgate.operations.types.homes import resources as resource_types


async def _own_account(tenant: Tenant) -> dict[str, Any]:
    return {"accountId": await tenant.add_account(f"{uuid4().hex}@example.org")}


async def _changed_account(tenant: Tenant) -> dict[str, Any]:
    return {**await _own_account(tenant), "input": {"name": "Ada"}}


async def _own_home(tenant: Tenant) -> dict[str, Any]:
    return {"veId": await tenant.add_home(tenant.ids["resource"])}


async def _changed_home(tenant: Tenant) -> dict[str, Any]:
    change = {"name": "New name", "timeZone": "Europe/London", "resources": [{"resourceId": tenant.ids["resource"]}]}
    return {**await _own_home(tenant), "input": {**change, "active": True}}


async def _closed_resource(tenant: Tenant) -> dict[str, Any]:
    return {"resourceId": await tenant.add_resource(), "input": {"label": "old", "active": False}}


async def _resource_to_move(tenant: Tenant) -> dict[str, Any]:
    return {"resourceId": await tenant.add_resource(), "userId": (await people.active(tenant))["userId"]}


async def _meter_point_to_move(tenant: Tenant) -> dict[str, Any]:
    """Return the move of a new meter point, at an instant that both interfaces return."""
    point = await metered(tenant)
    next_id = (await people.active(tenant))["userId"]
    return {"mpxn": point.mpxn, "userId": next_id, "movedInAt": "2026-03-01T00:00:00Z", "homeName": "New home"}


async def _joining_resource(tenant: Tenant) -> dict[str, Any]:
    return {"veId": await tenant.add_home(), "resourceId": await tenant.add_resource()}


async def _leaving_resource(tenant: Tenant) -> dict[str, Any]:
    resource_id = await tenant.add_resource()
    return {"veId": await tenant.add_home(resource_id), "resourceId": resource_id}


async def _home_with_attributes(tenant: Tenant) -> dict[str, Any]:
    return {**await _own_home(tenant), "attributes": {"rooms": 4, "kind": "flat"}}


async def _home_without_attributes(tenant: Tenant) -> dict[str, Any]:
    variables = await _home_with_attributes(tenant)
    await tenant.run("set_virtual_entity_attributes", ve_id=variables["veId"], attributes=variables["attributes"])
    return {"veId": variables["veId"], "names": ["rooms"]}


async def _token_id(tenant: Tenant) -> dict[str, Any]:
    await tenant.add_token()
    tokens = await tenant.run("tokens")
    return {"tokenId": tokens[-1].token_id}


async def _readings(tenant: Tenant) -> dict[str, Any]:
    series = {
        "resourceId": await tenant.add_resource(),
        "readings": [{"at": "2026-02-01T00:00:00Z", "value": 0.25}, {"at": "2026-02-01T00:30:00Z", "value": "0.5"}],
    }
    return {"series": [series]}


def _new_resource_type() -> dict[str, Any]:
    storage = [
        {
            "type": definition.type,
            "sampling": definition.sampling,
            "start": definition.start,
            "fields": [
                {
                    "fieldName": field.field_name,
                    "unit": field.unit,
                    "datatype": field.datatype,
                    "negative": field.negative,
                }
                for field in definition.fields
            ],
        }
        for definition in STORAGE
    ]
    return {"input": {"name": "gas", "classifier": "gas.consumption", "storage": storage, "description": "gas"}}


async def _new_type(tenant: Tenant) -> dict[str, Any]:
    resource_type = resource_types.NewResourceType(name="kept", classifier="gas.consumption", storage=STORAGE)
    added = await tenant.run("add_resource_type", input=resource_type)
    return {"resourceTypeId": added.resource_type_id, "retentionDays": 400}


async def _reading_file(tenant: Tenant) -> dict[str, Any]:
    content = b"at,value\n2026-01-05T00:00:00Z,0.25\n2026-01-05T00:30:00Z,0.5\n"
    return {
        "resourceIds": [await tenant.add_resource()],
        "content": b64encode(content).decode(),
        "options": {"profile": "wattgate"},
    }


async def _reading_columns(tenant: Tenant) -> dict[str, Any]:
    series = {
        "resourceId": await tenant.add_resource(),
        "at": ["2026-02-01T00:00:00Z", "2026-02-01T00:10:00Z", "2026-02-01T00:30:00Z"],
        "value": [0.25, 1, "0.5"],
        "quality": ["ACTUAL", "ACTUAL", "ESTIMATED"],
    }
    return {"series": [series]}


async def _own_tariff(tenant: Tenant, **terms: Any) -> dict[str, Any]:
    tariff = await tenant.set_tariff(await tenant.add_resource(), **terms)
    return {"tariffId": tariff.tariff_id}


async def _prices(tenant: Tenant) -> dict[str, Any]:
    prices = [{"at": "2026-02-01T00:00:00Z", "rate": "-0.025"}, {"at": "2026-02-01T00:30:00Z", "rate": "0.31"}]
    return {**await _own_tariff(tenant, kind=TariffKind.DYNAMIC), "currency": "GBP", "prices": prices}


async def _tariff_to_set(tenant: Tenant) -> dict[str, Any]:
    night = {"name": "night", "rate": "0.075", "weekdays": ["MONDAY", "SUNDAY"], "start": "23:30", "end": "05:30"}
    tariff = {
        "resourceId": await tenant.add_resource(),
        "timeZone": "Europe/London",
        "name": "Night saver",
        "kind": "TIME_OF_USE",
        "currency": "GBP",
        "rate": "0.295",
        "bands": [night],
        "vatPercent": 5,
        "validFrom": "2025-01-01T00:00:00Z",
    }
    return {"input": tariff}


EXAMPLES: dict[str, Example] = {
    "authenticate": fixed(
        lambda tenant: {
            "username": tenant.username,
            "password": PASSWORD,
            "applicationId": tenant.application_id,
        }
    ),
    "token_status": NOTHING,
    "new_token": NOTHING,
    "delete_token": NOTHING,
    "tokens": NOTHING,
    "revoke_token": _token_id,
    "accounts": NOTHING,
    "account": fixed(lambda tenant: {"accountId": tenant.account_id}),
    "add_account": fixed(
        lambda tenant: {
            "input": {"username": f"{uuid4().hex}@Example.org", "userId": tenant.user_id, "password": "long enough"}
        }
    ),
    "update_account": _changed_account,
    "delete_account": _own_account,
    "virtual_entities": NOTHING,
    "virtual_entity": by_id("virtual_entity", "veId"),
    "add_virtual_entity": fixed(
        lambda tenant: {
            "input": {
                "veTypeId": tenant.ids["virtual_entity_type"],
                "name": "Second home",
                "resources": [{"resourceId": tenant.ids["resource"]}],
            }
        }
    ),
    "update_virtual_entity": _changed_home,
    "deactivate_virtual_entity": _own_home,
    "add_virtual_entity_resource": _joining_resource,
    "remove_virtual_entity_resource": _leaving_resource,
    "set_virtual_entity_attributes": _home_with_attributes,
    "remove_virtual_entity_attributes": _home_without_attributes,
    "virtual_entity_type_resources": by_id("virtual_entity_type", "veTypeId"),
    "application_statistics": NOTHING,
    "virtual_entity_types": NOTHING,
    "virtual_entity_type": by_id("virtual_entity_type", "veTypeId"),
    "add_virtual_entity_type": fixed(lambda tenant: {"input": {"name": "Flat", "description": "A flat"}}),
    "update_virtual_entity_type": by_id("virtual_entity_type", "veTypeId", input={"description": "Changed"}),
    "resource_types": NOTHING,
    "resource_type": by_id("resource_type", "resourceTypeId"),
    "add_resource_type": fixed(lambda tenant: _new_resource_type()),
    "set_retention": _new_type,
    "resources": NOTHING,
    "resource": by_id("resource", "resourceId"),
    "add_resource": fixed(
        lambda tenant: {"input": {"resourceTypeId": tenant.ids["resource_type"], "name": "electricity"}}
    ),
    "update_resource": _closed_resource,
    "move_resource": _resource_to_move,
    "meter_point_move": _meter_point_to_move,
    "move_meter_point": _meter_point_to_move,
    "readings": by_id(
        "resource", "resourceId", range={"start": "2026-01-05T00:00:00Z", "end": "2026-01-05T02:00:00Z"}, period="PT30M"
    ),
    "record_readings": _readings,
    "record_reading_columns": _reading_columns,
    "inspect_reading_file": _reading_file,
    "preview_reading_file": _reading_file,
    "import_reading_file": _reading_file,
    "price_curve": by_id("resource", "resourceId", start="2026-01-05T00:00:00Z", end="2026-01-06T00:00:00Z"),
    "cheapest_window": by_id(
        "resource", "resourceId", minutes=90, notBefore="2026-01-05T00:00:00Z", before="2026-01-06T00:00:00Z"
    ),
    "set_tariff": _tariff_to_set,
    "withdraw_tariff": _own_tariff,
    "set_tariff_prices": _prices,
    "alert_types": NOTHING,
    "alert_type": by_id("alert_type", "alertTypeId"),
    "add_alert_type": fixed(
        lambda tenant: {
            "input": {
                "name": "Low",
                "systemAlertTypeId": uuid4().hex[:8],
                "description": "Low use",
                "variables": [
                    {"name": "use", "type": "ENERGY", "sample": 1.5, "description": "Use", "required": False}
                ],
            }
        }
    ),
    "alert_type_variables": by_id("alert_type", "alertTypeId"),
    "recent_alerts": by_id("alert_type", "alertTypeId"),
    "update_alert_type": by_id("alert_type", "alertTypeId", input={"name": "Very high"}),
    "audit_log": fixed(lambda tenant: {"first": 2}),
    "faqs": fixed(lambda tenant: {"reference": "app", "country": "GB"}),
    "faq": by_id("faq", "faqId"),
    "add_faq": fixed(
        lambda tenant: {
            "input": {
                "reference": "display",
                "version": "2.0.0",
                "minimumVersion": "1.0.0",
                "country": "GB",
                "data": [{"question": "What is green?", "reply": "Little use."}],
            }
        }
    ),
    **examples_areas.EXAMPLES,
    **examples_users.EXAMPLES,
    **examples_devices.EXAMPLES,
}
