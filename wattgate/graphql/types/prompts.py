"""GraphQL types of prompts, prompt outcomes and user actions."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries.references import reference_loader
from wattgate.graphql.core.connection import Connection
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.node import Node
from wattgate.graphql.core.pagination import connection_edge
from wattgate.graphql.core.scalars import Json
from wattgate.principal import Permission


@strawberry.type(description="Type of prompt, to which prompts belong.")
class PromptType(Node, model=models.PromptType):
    prompt_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    description: str
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="Prompt type to add.")
class NewPromptType:
    name: str
    description: str = ""
    active: bool = True


@strawberry.type(description="Request or hint that an app shows to users.")
class Prompt(Node, model=models.Prompt):
    prompt_id: strawberry.ID
    application_id: strawberry.ID
    prompt_type_id: strawberry.ID
    name: str
    message: str
    data: Json | None
    active: bool
    created_at: datetime
    updated_at: datetime
    type: PromptType | None = edge(
        reference_loader(models.PromptType, "prompt_type_id"),
        needs=Permission.CONTENT_READ,
        description="The prompt type. Null if the caller may not see it.",
    )
    prompt_users: "Connection[PromptUser]" = connection_edge(
        "PromptUser",
        models.PromptUser,
        column="prompt_id",
        parent="prompt_id",
        needs=Permission.RESPONSE_READ,
        description="Outcomes of the prompt that the caller may see.",
    )


@strawberry.input(description="Prompt to add.")
class NewPrompt:
    prompt_type_id: strawberry.ID
    name: str
    message: str = ""
    data: Json | None = None
    active: bool = True


@strawberry.type(description="Outcome of a prompt for one user.")
class PromptUser(Node, model=models.PromptUser):
    prompt_user_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    prompt_id: strawberry.ID
    status: str = strawberry.field(description="Outcome, such as shown, dismissed or done.")
    data: Json | None
    created_at: datetime
    updated_at: datetime
    prompt: Prompt | None = edge(
        reference_loader(models.Prompt, "prompt_id"),
        needs=Permission.CONTENT_READ,
        description="The prompt. Null if the caller may not see it.",
    )


@strawberry.input(description="Outcome of a prompt for the acting user.")
class NewPromptUser:
    prompt_id: strawberry.ID
    status: str = strawberry.field(default="shown", description="Outcome, such as shown, dismissed or done.")
    data: Json | None = None


@strawberry.type(description="Type of user action, to which user actions belong.")
class UserActionType(Node, model=models.UserActionType):
    user_action_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    description: str
    active: bool
    created_at: datetime
    updated_at: datetime
    user_actions: "Connection[UserAction]" = connection_edge(
        "UserAction",
        models.UserAction,
        column="user_action_type_id",
        parent="user_action_type_id",
        needs=Permission.RESPONSE_READ,
        description="Actions of this type that the caller may see.",
    )


@strawberry.input(description="User action type to add.")
class NewUserActionType:
    name: str
    description: str = ""
    active: bool = True


@strawberry.type(description="Something that a user did in an app.")
class UserAction(Node, model=models.UserAction):
    user_action_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    user_action_type_id: strawberry.ID
    data: Json | None
    created_at: datetime
    updated_at: datetime
    type: UserActionType | None = edge(
        reference_loader(models.UserActionType, "user_action_type_id"),
        needs=Permission.CONTENT_READ,
        description="The user action type. Null if the caller may not see it.",
    )


@strawberry.input(description="User action of the acting user to record.")
class NewUserAction:
    user_action_type_id: strawberry.ID
    data: Json | None = None
