"""All operations of the gateway: the sum of those that each module of `resolvers` declares.

`entities` declares the record types whose operations are uniform.
"""

from collections.abc import Iterable
from types import ModuleType

from wattgate.operations import content, flexibility, tariffs, trusted_documents
from wattgate.operations.accounts import (
    account_purges,
    accounts,
    audit,
    lookups,
    oauth,
    profiles,
    provisioning,
    registration,
    user_changes,
    user_suspensions,
    users,
    viewer,
)
from wattgate.operations.alerts import alert_rules, alert_types, alerts
from wattgate.operations.consent import access_log, consent
from wattgate.operations.core.entity import build_operations
from wattgate.operations.core.operation import Operation, declared_operations
from wattgate.operations.credentials import directories, second_factor, tokens
from wattgate.operations.devices import catch_ups, device_changes, devices, eligibility
from wattgate.operations.entities import ENTITIES, build_node_operations
from wattgate.operations.homes import (
    displays,
    home_members,
    home_resources,
    paired_displays,
    resource_lists,
    resource_types,
    resources,
    virtual_entities,
)
from wattgate.operations.messages import deliveries, mail, push
from wattgate.operations.moves import meter_point_moves, resource_changes
from wattgate.operations.personal_data import data_exports, erasures
from wattgate.operations.readings import (
    bulk_recording,
    live_readings,
    meter_messages,
    raw_readings,
    readings,
    recording,
    retention,
)
from wattgate.operations.readings.files import reading_files, reading_imports
from wattgate.operations.templates import template_previews, template_sharing, templates
from wattgate.operations.tenancies import listed_tenancies
from wattgate.operations.webhooks import webhook_endpoints, webhooks

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
    user_suspensions,
    registration,
    profiles,
    oauth,
    # Virtual entity system
    virtual_entities,
    home_resources,
    displays,
    # Shared homes
    home_members,
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
    reading_files,
    raw_readings,
    catch_ups,
    live_readings,
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
    trusted_documents,
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
    *_of_interfaces([lookups]),  # the schema has them after the operations of their subjects
    *(operation for entity in ENTITIES for operation in build_operations(entity)),
)

OPERATIONS: tuple[Operation, ...] = (*_RECORD_OPERATIONS, *build_node_operations(_RECORD_OPERATIONS))
"""The operations of the interfaces. GraphQL has all of them, REST those with a route."""

SYSTEM_OPERATIONS: tuple[Operation, ...] = tuple(
    each for module in _MODULES for each in declared_operations(module) if each.internal
)
"""Operations of the command line, the workers, the intake and the demo. GraphQL and REST do not have them."""
