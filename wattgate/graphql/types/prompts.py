"""Prompts, user actions, and what users did with them."""

from datetime import datetime

import strawberry

from wattgate.db import models
from wattgate.db.queries.references import referred
from wattgate.graphql.core.fields import edge
from wattgate.graphql.core.scalars import Json
from wattgate.principal import Permission


@strawberry.type(description="A kind of prompt.")
class PromptType:
    prompt_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    description: str
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A kind of prompt to add.")
class NewPromptType:
    name: str
    description: str = ""
    active: bool = True


@strawberry.type(description="Something that an app asks people to do or to notice.")
class Prompt:
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
        referred(models.PromptType, "prompt_type_id"), needs=Permission.CONTENT_READ, description="The kind of prompt."
    )


@strawberry.input(description="A prompt to add.")
class NewPrompt:
    prompt_type_id: strawberry.ID
    name: str
    message: str = ""
    data: Json | None = None
    active: bool = True


@strawberry.type(description="What became of a prompt for one user.")
class PromptUser:
    prompt_user_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    prompt_id: strawberry.ID
    status: str = strawberry.field(description="Such as shown, dismissed or done.")
    data: Json | None
    created_at: datetime
    updated_at: datetime
    prompt: Prompt | None = edge(
        referred(models.Prompt, "prompt_id"), needs=Permission.CONTENT_READ, description="The prompt."
    )


@strawberry.input(description="What became of a prompt, for the user for whom the call is made.")
class NewPromptUser:
    prompt_id: strawberry.ID
    status: str = "shown"
    data: Json | None = None


@strawberry.type(description="A kind of thing that people do in an app.")
class UserActionType:
    user_action_type_id: strawberry.ID
    application_id: strawberry.ID
    name: str
    description: str
    active: bool
    created_at: datetime
    updated_at: datetime


@strawberry.input(description="A kind of user action to add.")
class NewUserActionType:
    name: str
    description: str = ""
    active: bool = True


@strawberry.type(description="Something that a user did in an app.")
class UserAction:
    user_action_id: strawberry.ID
    application_id: strawberry.ID
    user_id: strawberry.ID
    user_action_type_id: strawberry.ID
    data: Json | None
    created_at: datetime
    updated_at: datetime
    type: UserActionType | None = edge(
        referred(models.UserActionType, "user_action_type_id"),
        needs=Permission.CONTENT_READ,
        description="The kind of user action.",
    )


@strawberry.input(description="Something that was done, by the user for whom the call is made.")
class NewUserAction:
    user_action_type_id: strawberry.ID
    data: Json | None = None
