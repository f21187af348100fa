"""Everything the gateway can do, on one page."""

from wattgate.db import models
from wattgate.graphql.entity import Entity, operations_of
from wattgate.graphql.operation import Operation
from wattgate.graphql.resolvers import accounts, homes, identity, live, provisioning, readings, resources
from wattgate.graphql.types import alerts, content
from wattgate.graphql.types import homes as home_types
from wattgate.graphql.types import resources as resource_types
from wattgate.principal import Permission, Scheme

ENTITIES: tuple[Entity, ...] = (
    Entity(
        name="alert_type",
        plural="alert_types",
        called="an alert type",
        path="/alerttype",
        row=models.AlertType,
        shape=alerts.AlertType,
        add=alerts.NewAlertType,
        update=alerts.AlertTypeChange,
        read=Permission.ALERT_READ,
        write=Permission.ALERT_WRITE,
        schemes=(("POST", Scheme.BASIC), ("PUT", Scheme.BASIC)),
        order_by="name",
    ),
    Entity(
        name="faq",
        plural="faqs",
        called="a set of frequently asked questions",
        path="/faq",
        row=models.Faq,
        shape=content.Faq,
        add=content.NewFaq,
        read=Permission.CONTENT_READ,
        write=Permission.CONTENT_WRITE,
        filters=("reference", "country", "version"),
        schemes=(("GET", Scheme.BASIC),),
    ),
    Entity(
        name="virtual_entity_type",
        plural="virtual_entity_types",
        called="a virtual entity type",
        path="/vetype",
        row=models.VirtualEntityType,
        shape=home_types.VirtualEntityType,
        add=home_types.NewVirtualEntityType,
        update=home_types.VirtualEntityTypeChange,
        read=Permission.VIRTUAL_ENTITY_TYPE_READ,
        write=Permission.VIRTUAL_ENTITY_TYPE_WRITE,
        written=201,
        acknowledges=("veTypeId",),
    ),
    Entity(
        name="resource_type",
        plural="resource_types",
        called="a resource type",
        path="/resourcetype",
        row=models.ResourceType,
        shape=resource_types.ResourceType,
        read=Permission.RESOURCE_TYPE_READ,
        write=Permission.RESOURCE_TYPE_WRITE,
    ),
)

OPERATIONS: tuple[Operation, ...] = (
    # Identity
    identity.authenticate,
    identity.token_status,
    identity.new_token,
    identity.delete_token,
    identity.tokens,
    identity.revoke_token,
    # Accounts
    accounts.accounts,
    accounts.account,
    accounts.add_account,
    accounts.update_account,
    accounts.delete_account,
    # Virtual entity system
    homes.virtual_entities,
    homes.virtual_entity,
    homes.add_virtual_entity,
    homes.update_virtual_entity,
    homes.deactivate_virtual_entity,
    homes.set_virtual_entity_attributes,
    homes.remove_virtual_entity_attributes,
    homes.virtual_entity_type_resources,
    homes.application_statistics,
    # Resource system
    resources.add_resource_type,
    resources.resources,
    resources.resource,
    resources.add_resource,
    readings.readings,
    readings.record_readings,
    live.readings,
    # Uniform records
    *(operation for entity in ENTITIES for operation in operations_of(entity)),
)

SYSTEM_OPERATIONS: tuple[Operation, ...] = (
    provisioning.create_application,
    provisioning.create_user,
    provisioning.set_tariff,
)
"""What the command line and the demo do besides; it stands on no door."""
