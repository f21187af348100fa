"""All operations of the gateway: the sum of those that each module of `resolvers` declares.

`entities` declares the record types whose operations are uniform.
"""

from collections.abc import Iterable
from types import ModuleType

from wattgate.graphql.connections import CONNECTIONS
from wattgate.graphql.core.entity import build_operations
from wattgate.graphql.core.operation import Operation, declared_operations
from wattgate.graphql.entities import ENTITIES
from wattgate.graphql.nodes import build_node_operations
from wattgate.graphql.resolvers import (
    access_log,
    account_purges,
    accounts,
    alert_rules,
    alert_types,
    alerts,
    audit,
    bulk_recording,
    catch_ups,
    consent,
    content,
    data_exports,
    deliveries,
    device_changes,
    devices,
    directories,
    displays,
    eligibility,
    erasures,
    flexibility,
    freshness,
    home_attributes,
    home_resources,
    listed_tenancies,
    live_readings,
    lookups,
    mail,
    meter_messages,
    meter_point_moves,
    network_registry,
    oauth,
    oauth_clients,
    paired_displays,
    profiles,
    provisioning,
    push,
    raw_readings,
    reading_imports,
    readings,
    recording,
    registration,
    resource_changes,
    resource_lists,
    resource_types,
    resources,
    retention,
    second_factor,
    tariffs,
    template_previews,
    template_sharing,
    template_test_mail,
    templates,
    tokens,
    trusted_documents,
    user_changes,
    users,
    viewer,
    virtual_entities,
    webhook_endpoints,
    webhooks,
)

_MODULES: tuple[ModuleType, ...] = (
    # Where the graph starts
    viewer,
    # Identity
    tokens,
    # Accounts
    accounts,
    push,
    # Second factor and external directories
    second_factor,
    directories,
    # User system
    users,
    erasures,
    data_exports,
    user_changes,
    registration,
    profiles,
    oauth,
    # Virtual entity system
    virtual_entities,
    home_resources,
    home_attributes,
    displays,
    # Paired displays
    paired_displays,
    # Resource system
    resource_types,
    retention,
    resources,
    resource_changes,
    meter_point_moves,
    readings,
    resource_lists,
    recording,
    raw_readings,
    catch_ups,
    live_readings,
    freshness,
    # Tariffs
    tariffs,
    # Consent
    consent,
    access_log,
    # Content system
    content,
    # Notification system
    alert_types,
    templates,
    template_sharing,
    template_previews,
    template_test_mail,
    alerts,
    mail,
    alert_rules,
    # Webhook system
    webhook_endpoints,
    # Demand flexibility service
    flexibility,
    # Device management system
    devices,
    device_changes,
    # Audit log
    audit,
    # Smart meter eligibility
    eligibility,
    # The command line, the workers and the intake
    provisioning,
    oauth_clients,
    trusted_documents,
    network_registry,
    listed_tenancies,
    webhooks,
    deliveries,
    account_purges,
    bulk_recording,
    reading_imports,
    meter_messages,
)
"""The modules in the order of the fields in the schema, by subject."""


def _of_interfaces(modules: Iterable[ModuleType]) -> tuple[Operation, ...]:
    return tuple(each for module in modules for each in declared_operations(module) if not each.internal)


_RECORD_OPERATIONS: tuple[Operation, ...] = (
    *_of_interfaces(_MODULES),
    *CONNECTIONS,
    *_of_interfaces([lookups]),  # the schema has them after the pages of long lists
    *(operation for entity in ENTITIES for operation in build_operations(entity)),
)

OPERATIONS: tuple[Operation, ...] = (*_RECORD_OPERATIONS, *build_node_operations(_RECORD_OPERATIONS))
"""The operations of the interfaces. GraphQL has all of them, REST those with a route."""

SYSTEM_OPERATIONS: tuple[Operation, ...] = tuple(
    each for module in _MODULES for each in declared_operations(module) if each.internal
)
"""Operations of the command line, the workers, the intake and the demo. GraphQL and REST do not have them."""
