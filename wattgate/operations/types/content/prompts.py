"""GraphQL types of prompts, prompt outcomes and user actions."""

import strawberry

from wattgate.db import models
from wattgate.db.queries.content import reference_loader
from wattgate.operations.core.fields import edge
from wattgate.operations.core.pagination import Connection, ListFilter, connection_edge, filter_input
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import Data
from wattgate.principal import Permission
from wattgate.values import terms


@filter_input("Filter of a list of prompts.")
class PromptFilter(ListFilter):
    prompt_type_id: strawberry.ID | None = strawberry.field(default=UNSET, description="ID of the prompt type.")


@strawberry.type(description="Type of prompt, to which prompts belong.")
class PromptType(Node, model=models.PromptType):
    prompt_type_id: ids.PromptTypeId
    application_id: ids.ApplicationId
    name: terms.Name
    description: terms.Description
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt


@strawberry.input(description="Prompt type to add.")
class NewPromptType:
    name: terms.Name
    description: terms.Description = ""
    active: terms.Active = True


@strawberry.type(description="Request or hint that an app shows to users.")
class Prompt(Node, model=models.Prompt):
    prompt_id: ids.PromptId
    application_id: ids.ApplicationId
    prompt_type_id: ids.PromptTypeId
    name: terms.Name
    message: terms.Message
    data: Data | None
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    type: PromptType | None = edge(
        reference_loader(models.PromptType, "prompt_type_id"),
        needs=Permission.CONTENT_READ,
        description="The prompt type. Null if the caller may not see it.",
    )
    prompt_users: "Connection[PromptUser]" = connection_edge(
        models.PromptUser,
        column="prompt_id",
        needs=Permission.RESPONSE_READ,
        description="Outcomes of the prompt that the caller may see.",
    )


@strawberry.input(description="Prompt to add.")
class NewPrompt:
    prompt_type_id: ids.PromptTypeId
    name: terms.Name
    message: terms.Message = ""
    data: Data | None = None
    active: terms.Active = True


@strawberry.type(description="Outcome of a prompt for one user.")
class PromptUser(Node, model=models.PromptUser):
    prompt_user_id: strawberry.ID = strawberry.field(description="ID of the prompt outcome.")
    application_id: ids.ApplicationId
    user_id: ids.UserId
    prompt_id: ids.PromptId
    status: str = strawberry.field(description="Outcome, such as shown, dismissed or done.")
    data: Data | None
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    prompt: Prompt | None = edge(
        reference_loader(models.Prompt, "prompt_id"),
        needs=Permission.CONTENT_READ,
        description="The prompt. Null if the caller may not see it.",
    )


@strawberry.input(description="Outcome of a prompt for the acting user.")
class NewPromptUser:
    prompt_id: ids.PromptId
    status: terms.Text100 = strawberry.field(default="shown", description="Outcome, such as shown, dismissed or done.")
    data: Data | None = None


@strawberry.type(description="Type of user action, to which user actions belong.")
class UserActionType(Node, model=models.UserActionType):
    user_action_type_id: ids.UserActionTypeId
    application_id: ids.ApplicationId
    name: terms.Name
    description: terms.Description
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    user_actions: "Connection[UserAction]" = connection_edge(
        models.UserAction,
        column="user_action_type_id",
        needs=Permission.RESPONSE_READ,
        description="Actions of this type that the caller may see.",
    )


@strawberry.input(description="User action type to add.")
class NewUserActionType:
    name: terms.Name
    description: terms.Description = ""
    active: terms.Active = True


@strawberry.type(description="Something that a user did in an app.")
class UserAction(Node, model=models.UserAction):
    user_action_id: strawberry.ID = strawberry.field(description="ID of the user action.")
    application_id: ids.ApplicationId
    user_id: ids.UserId
    user_action_type_id: ids.UserActionTypeId
    data: Data | None
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    type: UserActionType | None = edge(
        reference_loader(models.UserActionType, "user_action_type_id"),
        needs=Permission.CONTENT_READ,
        description="The user action type. Null if the caller may not see it.",
    )


@strawberry.input(description="User action of the acting user to record.")
class NewUserAction:
    user_action_type_id: ids.UserActionTypeId
    data: Data | None = None
