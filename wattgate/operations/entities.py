"""The record types with uniform operations. `core.entity` builds their list, get, add and update operations."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from wattgate.db import models
from wattgate.errors import GatewayError
from wattgate.operations.core.entity import Entity
from wattgate.operations.core.operation import Operation, OperationKind, RunOperation, operation
from wattgate.operations.types.content import content as content_types
from wattgate.operations.types.content import prompts as prompt_types
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.types.identity import directories as directory_types
from wattgate.operations.types.messages import alert_rules as rule_types
from wattgate.operations.types.messages import alerts as notification_types
from wattgate.operations.types.messages import webhooks as webhook_types
from wattgate.operations.types.meters import devices as device_types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.cost_weights import (
    GROWING_LIST_SIZE,
    STATEMENT_WEIGHT,
    ListSize,
    list_length,
    per_item,
)
from wattgate.operations.vocabulary.node import Node, decode_global_id, invalid_global_id
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import AuthScheme, Permission
from wattgate.values import terms
from wattgate.values.annotations import Described, MaxItems
from wattgate.values.graphql_names import graphql_type_name

ENTITIES: tuple[Entity, ...] = (
    Entity(
        name="directory",
        plural="directories",
        noun="an external directory",
        plural_noun="external directories",
        path="/directory",
        tag=Tag.DIRECTORIES,
        model=models.Directory,
        graphql_type=directory_types.Directory,
        read_permission=Permission.DIRECTORY_MANAGE,
        write_permission=Permission.DIRECTORY_MANAGE,
        list_in_graphql=("application", "directories"),
    ),
    Entity(
        name="alert_type",
        plural="alert_types",
        noun="an alert type",
        path="/alerttype",
        tag=Tag.ALERT_TYPES,
        model=models.AlertType,
        graphql_type=notification_types.AlertType,
        read_permission=Permission.ALERT_READ,
        write_permission=Permission.ALERT_WRITE,
        order_by="name",
        list_in_graphql=("application", "alertTypes"),
    ),
    Entity(
        name="template",
        plural="templates",
        noun="a template",
        path="/template",
        tag=Tag.TEMPLATES,
        model=models.Template,
        graphql_type=notification_types.Template,
        has_list=False,
        read_permission=Permission.TEMPLATE_READ,
        write_permission=Permission.TEMPLATE_WRITE,
    ),
    Entity(
        name="alert_rule",
        plural="alert_rules",
        noun="an alert rule",
        path="/alertrule",
        tag=Tag.ALERT_RULES,
        model=models.AlertRule,
        graphql_type=rule_types.AlertRule,
        read_permission=Permission.NOTIFICATION_READ,
        write_permission=Permission.NOTIFICATION_WRITE,
        list_in_graphql=("viewer", "alertRules"),
    ),
    Entity(
        name="webhook",
        plural="webhooks",
        noun="a webhook",
        path="/webhook",
        tag=Tag.WEBHOOKS,
        model=models.Webhook,
        graphql_type=webhook_types.Webhook,
        read_permission=Permission.WEBHOOK_READ,
        write_permission=Permission.WEBHOOK_WRITE,
        schemes=(("GET one", AuthScheme.TOKEN),),
        list_size=GROWING_LIST_SIZE,
        refuses_malformed_ids=True,
        list_in_graphql=("viewer", "webhooks"),
    ),
    Entity(
        name="webhook_endpoint",
        plural="webhook_endpoints",
        noun="a webhook endpoint",
        path="/webhook/endpoint",
        tag=Tag.WEBHOOKS,
        model=models.WebhookEndpoint,
        graphql_type=webhook_types.WebhookEndpoint,
        read_permission=Permission.WEBHOOK_MANAGE,
        write_permission=Permission.WEBHOOK_MANAGE,
        refuses_malformed_ids=True,
        list_in_graphql=("application", "webhookEndpoints"),
    ),
    Entity(
        name="webhook_error",
        plural="webhook_errors",
        noun="a webhook error",
        path="/webhook/error",
        tag=Tag.WEBHOOKS,
        model=models.WebhookError,
        graphql_type=webhook_types.WebhookError,
        read_permission=Permission.WEBHOOK_READ,
        write_permission=Permission.WEBHOOK_WRITE,
        list_size=GROWING_LIST_SIZE,
        refuses_malformed_ids=True,
        list_in_graphql=("viewer", "webhookErrors"),
    ),
    Entity(
        name="content",
        plural="contents",
        noun="a content object",
        plural_noun="content objects",
        path="/content",
        tag=Tag.CONTENT,
        model=models.Content,
        graphql_type=content_types.Content,
        add_input=content_types.NewContent,
        update_input=content_types.ContentChange,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
        filters={"reference": terms.Reference},
        list_in_graphql=("application", "contents"),
    ),
    Entity(
        name="language_content",
        plural="language_contents",
        noun="a translation of a content object",
        path="/languagecontent",
        tag=Tag.CONTENT,
        model=models.LanguageContent,
        graphql_type=content_types.LanguageContent,
        has_list=False,
        add_input=content_types.NewLanguageContent,
        update_input=content_types.LanguageContentChange,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
    ),
    Entity(
        name="terms_conditions",
        plural="all_terms_conditions",
        noun="a version of terms and conditions",
        plural_noun="versions of terms and conditions",
        path="/termsconditions",
        tag=Tag.TERMS_AND_CONDITIONS,
        model=models.TermsConditions,
        graphql_type=content_types.TermsConditions,
        add_input=content_types.NewTermsConditions,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
        filters={"reference": terms.Reference, "version": terms.Version},
        list_in_graphql=("application", "termsConditions"),
    ),
    Entity(
        name="terms_conditions_user",
        plural="terms_conditions_users",
        noun="an answer to terms and conditions",
        plural_noun="answers to terms and conditions",
        path="/termsconditionsuser",
        tag=Tag.TERMS_AND_CONDITIONS,
        model=models.TermsConditionsUser,
        graphql_type=content_types.TermsConditionsUser,
        read_permission=Permission.RESPONSE_READ,
        write_permission=Permission.RESPONSE_WRITE,
        filters={
            "tc_id": Annotated[terms.Text200, Described("ID of the version of terms and conditions.")],
            "reference": terms.Reference,
        },
        schemes=(("GET one", AuthScheme.BASIC),),
        list_size=GROWING_LIST_SIZE,
        list_in_graphql=("viewer", "termsConditionsUsers"),
    ),
    Entity(
        name="support_details",
        plural="all_support_details",
        noun="support details",
        plural_noun="support details",
        path="/supportdetails",
        tag=Tag.SUPPORT_DETAILS,
        model=models.SupportDetails,
        graphql_type=content_types.SupportDetails,
        add_input=content_types.NewSupportDetails,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
        filters={"reference": terms.Reference, "country": terms.Country},
        list_in_graphql=("application", "supportDetails"),
    ),
    Entity(
        name="faq",
        plural="faqs",
        noun="a set of frequently asked questions",
        path="/faq",
        tag=Tag.QUESTIONS_AND_ANSWERS,
        model=models.Faq,
        graphql_type=content_types.Faq,
        has_list=False,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
    ),
    Entity(
        name="prompt_type",
        plural="prompt_types",
        noun="a prompt type",
        path="/prompttype",
        tag=Tag.PROMPTS,
        model=models.PromptType,
        graphql_type=prompt_types.PromptType,
        add_input=prompt_types.NewPromptType,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
        list_in_graphql=("application", "promptTypes"),
    ),
    Entity(
        name="prompt",
        plural="prompts",
        noun="a prompt",
        path="/prompt",
        tag=Tag.PROMPTS,
        model=models.Prompt,
        graphql_type=prompt_types.Prompt,
        add_input=prompt_types.NewPrompt,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
        filters={"prompt_type_id": Annotated[terms.Text200, Described("ID of the prompt type.")]},
        list_in_graphql=("application", "prompts"),
    ),
    Entity(
        name="prompt_user",
        plural="prompt_users",
        noun="an outcome of a prompt",
        plural_noun="outcomes of prompts",
        path="/promptuser",
        tag=Tag.PROMPTS,
        model=models.PromptUser,
        graphql_type=prompt_types.PromptUser,
        add_input=prompt_types.NewPromptUser,
        read_permission=Permission.RESPONSE_READ,
        write_permission=Permission.RESPONSE_WRITE,
        filters={
            "prompt_id": Annotated[terms.Text200, Described("ID of the prompt.")],
            "status": Annotated[terms.Text100, Described("Return only outcomes with this status.")],
        },
        list_size=GROWING_LIST_SIZE,
        list_in_graphql=("viewer", "promptUsers"),
    ),
    Entity(
        name="user_action_type",
        plural="user_action_types",
        noun="a user action type",
        path="/useractiontype",
        tag=Tag.USER_ACTIONS,
        model=models.UserActionType,
        graphql_type=prompt_types.UserActionType,
        add_input=prompt_types.NewUserActionType,
        read_permission=Permission.CONTENT_READ,
        write_permission=Permission.CONTENT_WRITE,
        list_in_graphql=("application", "userActionTypes"),
    ),
    Entity(
        name="user_action",
        plural="user_actions",
        noun="a user action",
        path="/useraction",
        tag=Tag.USER_ACTIONS,
        model=models.UserAction,
        graphql_type=prompt_types.UserAction,
        add_input=prompt_types.NewUserAction,
        read_permission=Permission.RESPONSE_READ,
        write_permission=Permission.RESPONSE_WRITE,
        filters={"user_action_type_id": Annotated[terms.Text200, Described("ID of the user action type.")]},
        list_size=GROWING_LIST_SIZE,
        list_in_graphql=("viewer", "userActions"),
    ),
    Entity(
        name="virtual_entity_type",
        plural="virtual_entity_types",
        noun="a virtual entity type",
        path="/vetype",
        tag=Tag.HOME_TYPES,
        model=models.VirtualEntityType,
        graphql_type=home_types.VirtualEntityType,
        add_input=home_types.NewVirtualEntityType,
        update_input=home_types.VirtualEntityTypeChange,
        read_permission=Permission.VIRTUAL_ENTITY_TYPE_READ,
        write_permission=Permission.VIRTUAL_ENTITY_TYPE_WRITE,
        write_status=201,
        acknowledged_fields=("veTypeId",),
        list_in_graphql=("application", "homeTypes"),
    ),
    Entity(
        name="device_type",
        plural="device_types",
        noun="a device type",
        path="/devicetype",
        tag=Tag.DEVICE_TYPES,
        model=models.DeviceType,
        graphql_type=device_types.DeviceType,
        add_input=device_types.NewDeviceType,
        read_permission=Permission.DEVICE_TYPE_READ,
        write_permission=Permission.DEVICE_TYPE_WRITE,
        acknowledged_fields=("deviceTypeId",),
        list_in_graphql=("application", "deviceTypes"),
    ),
    Entity(
        name="resource_type",
        plural="resource_types",
        noun="a resource type",
        path="/resourcetype",
        tag=Tag.RESOURCE_TYPES,
        model=models.ResourceType,
        graphql_type=resource_types.ResourceType,
        read_permission=Permission.RESOURCE_TYPE_READ,
        write_permission=Permission.RESOURCE_TYPE_WRITE,
        list_in_graphql=("application", "resourceTypes"),
    ),
)


# The operations `node` and `nodes`, derived from the operations that return one record by its ID.

MAX_NODES = 50
"""Maximum records of one `nodes`. Each is read by an operation of its own."""


def reading_operations(operations: Iterable[Operation]) -> dict[str, Operation]:
    """Return the operation that returns one record by its ID, by the name of the record's type."""
    return {
        graphql_type_name(candidate.result_type.__name__): candidate
        for candidate in operations
        if candidate.kind is OperationKind.QUERY
        and not candidate.returns_list
        and isinstance(candidate.result_type, type)
        and issubclass(candidate.result_type, Node)
        and candidate.result_type is not Node
        and set(candidate.arguments) == {candidate.result_type.node_key}
    }


def build_node_operations(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return `node` and `nodes` for the records that the given operations return.

    A global id stands for a call of the operation of its type. The caller needs its permission, and sees the records
    that it returns.
    """
    readers = reading_operations(operations)

    @operation(OperationKind.QUERY, returns=Node, needs=Permission.USER_READ, delegates=True)
    async def node(run: RunOperation, *, id: Annotated[Id, Described("Global ID: the value of a field `id`.")]) -> Any:
        """Return the record with this global ID.

        The caller needs the permission of the field that returns one record of this type, such as `resource`. A record
        of another user or application fails with NOT_FOUND.
        """
        return await _read(run, readers, id, "id")

    @operation(
        OperationKind.QUERY,
        returns=list[Node | None],
        needs=Permission.USER_READ,
        delegates=True,
        weight=per_item("ids", max_items=MAX_NODES, weight=STATEMENT_WEIGHT, item_weight=STATEMENT_WEIGHT),
        sizes=[ListSize(list_length("ids"))],
    )
    async def nodes(
        run: RunOperation,
        *,
        ids: Annotated[list[Id], MaxItems(MAX_NODES), Described("Global IDs: values of fields `id`.")],
    ) -> list[Any]:
        """Return the records with these global IDs, in order. Each one that cannot be read is null, with an error."""
        results: list[Any] = []
        for global_id in ids:  # one at a time, because each record takes a connection of the pool
            try:
                results.append(await _read(run, readers, global_id, "ids"))
            except GatewayError as error:
                results.append(error)  # graphql-core reports an error in a list as the error of its item
        return results

    return node, nodes


async def _read(run: RunOperation, readers: Mapping[str, Operation], global_id: str, argument: str) -> Any:
    type_name, key = decode_global_id(global_id, argument)
    reader = readers.get(type_name)
    if reader is None:
        raise invalid_global_id(global_id, argument)
    return await run(reader, {reader.result_type.node_key: key})
