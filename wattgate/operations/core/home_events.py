"""Events about changed homes, resources and devices, so that live subscriptions follow the change."""

from collections.abc import Collection, Iterable

from sqlmodel import col

from wattgate.db import models
from wattgate.operations.core.operation import Call
from wattgate.realtime import topics
from wattgate.realtime.events import (
    DeviceChanged,
    Event,
    MeterPointConsentRevoked,
    ResourceChanged,
    VirtualEntityChanged,
)


def emit_home_changed(call: Call, ve_id: str) -> None:
    """Announce a change of a home's record or of its resources."""
    call.emit(Event(topics.virtual_entities(ve_id), ve_id, VirtualEntityChanged(ve_id)))


def emit_device_changed(call: Call, device_id: str) -> None:
    """Announce a change of a device's record or of its sensors."""
    call.emit(Event(topics.device_states(device_id), device_id, DeviceChanged(device_id)))


def emit_resources_changed(call: Call, resource_ids: Iterable[str | None]) -> None:
    """Announce changes of resources, or of the devices that feed them. Ids that are None are left out."""
    for resource_id in sorted({resource_id for resource_id in resource_ids if resource_id is not None}):
        for topic in (topics.readings(resource_id), topics.catch_ups(resource_id)):
            call.emit(Event(topic, "resource", ResourceChanged(resource_id)))


def emit_consent_revoked(call: Call, mpxn: str, resource_ids: Iterable[str]) -> None:
    """Announce to live subscriptions that the data of these resources is withheld from now on."""
    for resource_id in resource_ids:
        for topic in (topics.readings(resource_id), topics.catch_ups(resource_id)):
            call.emit(Event(topic, "consent", MeterPointConsentRevoked(mpxn, resource_id)))


async def emit_homes_of_resources_changed(call: Call, resource_ids: Collection[str]) -> None:
    """Announce that the active resources of homes have changed: these were closed or opened again."""
    links = await call.rows.all(
        models.VirtualEntityResource, col(models.VirtualEntityResource.resource_id).in_(resource_ids)
    )
    for ve_id in sorted({link.ve_id for link in links}):
        emit_home_changed(call, ve_id)
    emit_resources_changed(call, resource_ids)
