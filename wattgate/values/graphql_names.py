"""The glossary: the names of the GraphQL schema that are not the camel case of a Python name.

Python, the database and REST keep the words of the specification. GraphQL has the words that developers of households
expect. `docs/reference/schema-design.md` shows them to readers; a test compares it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from wattgate.enums import to_camel_case

TYPES: Mapping[str, str] = MappingProxyType(
    {
        "VirtualEntity": "Home",
        "VirtualEntityChange": "HomeChange",
        "NewVirtualEntity": "NewHome",
        "NewVirtualEntities": "NewHomes",
        "VirtualEntityType": "HomeType",
        "VirtualEntityTypeChange": "HomeTypeChange",
        "NewVirtualEntityType": "NewHomeType",
        "MpxnKey": "MeterPointNumberKind",
        "DfsEvent": "FlexibilityEvent",
        "DfsEventState": "FlexibilityEventState",
        "NewDfsEvent": "NewFlexibilityEvent",
        "DfsUser": "FlexibilityEnrolment",
        "DfsUsers": "FlexibilityEnrolments",
        "DfsParticipation": "FlexibilityParticipation",
        "DfsParticipations": "FlexibilityParticipations",
        "MobileAppToken": "PushToken",
        "NewToken": "IssuedToken",
    }
)
"""Names of types, without `Connection` and `Edge`, which follow the type of their records."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "virtual_entity": "home",
        "virtual_entities": "homes",
        "virtual_entity_types": "homeTypes",
        "ve_id": "homeId",
        "ve_type_id": "homeTypeId",
        "total_virtual_entities": "totalHomes",
        "new_virtual_entities": "newHomes",
        "mpxn": "meterPointNumber",
        "mpxns": "meterPointNumbers",
        "mpxn_key": "meterPointNumberKind",
        "dfs_event_id": "flexibilityEventId",
        "dfs_user_id": "flexibilityEnrolmentId",
        "dfs_users": "flexibilityEnrolments",
        "dfs_enrolments": "flexibilityEnrolments",
        "dfs_events": "flexibilityEvents",
        "dfs_participations": "flexibilityParticipations",
        "mobile_app_token_id": "pushTokenId",
        "new_token": "pushToken",
        "remove_token": "pushToken",
    }
)
"""Names of fields, arguments and input fields, by their Python names."""

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "virtual_entity": "home",
        "virtual_entities": "homes",
        "virtual_entity_type": "homeType",
        "virtual_entity_types": "homeTypes",
        "virtual_entity_type_resources": "homeTypeResources",
        "add_virtual_entity": "createHome",
        "update_virtual_entity": "updateHome",
        "deactivate_virtual_entity": "deactivateHome",
        "add_virtual_entity_resource": "addResourceToHome",
        "remove_virtual_entity_resource": "removeResourceFromHome",
        "set_virtual_entity_attributes": "setHomeAttributes",
        "remove_virtual_entity_attributes": "removeHomeAttributes",
        "add_virtual_entity_type": "createHomeType",
        "update_virtual_entity_type": "updateHomeType",
        "mobile_app_tokens": "pushTokens",
        "add_mobile_app_token": "createPushToken",
        "remove_mobile_app_token": "deletePushToken",
        "new_token": "createToken",
        "delete_account": "closeAccount",
        "remove_second_factor": "deleteSecondFactor",
        "remove_mail_suppression": "deleteMailSuppression",
        "remove_alert_rule": "deleteAlertRule",
        "dfs_users": "flexibilityEnrolments",
        "opt_in_to_dfs": "optInToFlexibility",
        "opt_out_of_dfs": "optOutOfFlexibility",
        "participate_in_dfs_event": "joinFlexibilityEvent",
        "dfs_events": "flexibilityEvents",
        "user_dfs_events": "userFlexibilityEvents",
        "dfs_event_users": "flexibilityEventUsers",
        "dfs_terms_conditions": "flexibilityTermsConditions",
        "add_dfs_event": "createFlexibilityEvent",
        "move_dfs_event": "setFlexibilityEventState",
        "dfs_event_changes": "flexibilityEventChanges",
        "add_account": "createAccount",
        "add_directory": "createDirectory",
        "add_user": "createUser",
        "add_resource_type": "createResourceType",
        "add_resource": "createResource",
        "add_faq": "createFaq",
        "add_terms_conditions": "createTermsConditions",
        "add_terms_conditions_user": "createTermsConditionsUser",
        "add_alert_type": "createAlertType",
        "add_template": "createTemplate",
        "add_template_for": "createTemplateFor",
        "add_template_version": "createTemplateVersion",
        "add_alert_rule": "createAlertRule",
        "add_webhook_endpoint": "createWebhookEndpoint",
        "add_device": "createDevice",
        "add_content": "createContent",
        "add_language_content": "createLanguageContent",
        "add_support_details": "createSupportDetails",
        "add_prompt_type": "createPromptType",
        "add_prompt": "createPrompt",
        "add_prompt_user": "createPromptUser",
        "add_user_action_type": "createUserActionType",
        "add_user_action": "createUserAction",
        "add_device_type": "createDeviceType",
    }
)
"""Names of root fields, by the Python names of their operations."""

SCALARS: Mapping[str, str] = MappingProxyType(
    {
        "mpxn": "MeterPointNumber",
        "mpxns": "MeterPointNumber",
        "time_zone": "TimeZone",
        "quiet_from": "LocalTime",
        "quiet_to": "LocalTime",
        "TariffBand.start": "LocalTime",
        "TariffBand.end": "LocalTime",
        "NewTariffBand.start": "LocalTime",
        "NewTariffBand.end": "LocalTime",
        "ComponentWindow.start": "LocalTime",
        "ComponentWindow.end": "LocalTime",
        "NewComponentWindow.start": "LocalTime",
        "NewComponentWindow.end": "LocalTime",
    }
)
"""Scalars of texts, by the Python name of the field or argument, or by the type and this name. REST has plain texts."""

PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "Active virtual entities of the user: the homes": "Active homes of the user",
        "virtual entities": "homes",
        "Virtual entities": "Homes",
        "virtual entity": "home",
        "Virtual entity": "Home",
        "DFS enrolments of all users": "Flexibility enrolments of all users",
        "DFS enrolments": "flexibility enrolments",
        "DFS enrolment": "flexibility enrolment",
    }
)
"""Words of descriptions, in the order in which they are replaced."""

_NAMES_BY_REST_NAME = {to_camel_case(name): graphql_name for name, graphql_name in NAMES.items()}
_NAMES_IN_TEXTS = {
    **_NAMES_BY_REST_NAME,
    **{to_camel_case(name): graphql_name for name, graphql_name in OPERATIONS.items()},
}
_IDENTIFIER = re.compile(r"\w+")


def graphql_name(python_name: str) -> str:
    """Return the GraphQL name of a field, an argument or an input field."""
    return NAMES.get(python_name) or to_camel_case(python_name)


def graphql_type_name(name: str) -> str:
    """Return the GraphQL name of a type."""
    return TYPES.get(name, name)


def graphql_operation_name(python_name: str) -> str:
    """Return the name of the root field of an operation."""
    return OPERATIONS.get(python_name) or to_camel_case(python_name)


def graphql_scalar(type_name: str, python_name: str) -> str | None:
    """Return the scalar of a text in GraphQL, or None for a plain text."""
    return SCALARS.get(f"{type_name}.{python_name}") or SCALARS.get(python_name)


def graphql_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return the path of a value in GraphQL, for a path with the names of REST."""
    return tuple(_NAMES_BY_REST_NAME.get(part, part) if isinstance(part, str) else part for part in path)


def graphql_text(text: str) -> str:
    """Return a description with the words of GraphQL, for one with the words of the specification."""
    for words, graphql_words in PHRASES.items():
        text = text.replace(words, graphql_words)
    return _IDENTIFIER.sub(lambda found: _NAMES_IN_TEXTS.get(found[0], found[0]), text)
