"""The content system: content that apps show to users, and the responses of users."""

from datetime import datetime
from typing import Any, ClassVar

import msgspec
from sqlmodel import Field

from wattgate.db.column_types import (
    AssignedId,
    JsonColumn,
    StructColumn,
    UtcDateTime,
    created_at_field,
    updated_at_field,
)
from wattgate.db.models.tenancy import NoQuota, Quota, Tenanted


class QuestionAndReply(msgspec.Struct):
    question: str
    reply: str


class Faq(Tenanted, table=True):
    """Frequently asked questions for one reference, country and version of an app."""

    key: ClassVar[str] = "faq_id"
    quota: ClassVar[Quota | NoQuota] = Quota("FAQs", per_application=5_000)

    faq_id: str = AssignedId()
    reference: str
    version: str
    minimum_version: str
    country: str
    status: str = "OK"
    data: list[QuestionAndReply] = Field(sa_type=StructColumn(QuestionAndReply))
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Content(Tenanted, table=True):
    """A content object that apps show. `data` has any form. LanguageContent has the texts of each language."""

    key: ClassVar[str] = "content_id"
    quota: ClassVar[Quota | NoQuota] = Quota("contents", per_application=10_000)

    content_id: str = AssignedId()
    reference: str
    name: str
    description: str = ""
    data: Any = Field(default=None, sa_type=JsonColumn)
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class LanguageContent(Tenanted, table=True):
    """A content object in one culture: a language-region tag, a language, or `default`."""

    __tablename__ = "language_content"
    key: ClassVar[str] = "language_content_id"
    quota: ClassVar[Quota | NoQuota] = Quota("contents in a language", per_application=50_000)

    language_content_id: str = AssignedId()
    content_id: str = Field(foreign_key="content.content_id", index=True)
    culture_code: str
    data: Any = Field(default=None, sa_type=JsonColumn)
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class TermsConditions(Tenanted, table=True):
    """A version of terms and conditions. For each reference, the newest version whose `valid_from` is past applies."""

    __tablename__ = "terms_conditions"
    key: ClassVar[str] = "tc_id"
    quota: ClassVar[Quota | NoQuota] = Quota("terms and conditions", per_application=1_000)

    tc_id: str = AssignedId()
    reference: str
    version: str
    title: str = ""
    data: Any = Field(default=None, sa_type=JsonColumn)
    valid_from: datetime = Field(sa_type=UtcDateTime)
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class TermsConditionsUser(Tenanted, table=True):
    """A user's response to terms and conditions."""

    __tablename__ = "terms_conditions_user"
    key: ClassVar[str] = "tc_user_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("acceptances of terms", per_user=5_000)

    tc_user_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    tc_id: str = Field(foreign_key="terms_conditions.tc_id", index=True)
    data: Any = Field(sa_type=JsonColumn)
    reference: str = ""
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()

    @property
    def accepted(self) -> bool:
        """Whether the user allows access to the data."""
        return bool(self.data["dataAccess"]["valid"])


class SupportDetails(Tenanted, table=True):
    """Contact details of the support for users in a country."""

    __tablename__ = "support_details"
    key: ClassVar[str] = "support_details_id"
    quota: ClassVar[Quota | NoQuota] = Quota("support details", per_application=1_000)

    support_details_id: str = AssignedId()
    reference: str
    country: str
    email: str = ""
    telephone: str = ""
    url: str = ""
    data: Any = Field(default=None, sa_type=JsonColumn)
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class PromptType(Tenanted, table=True):
    """A type of prompt."""

    __tablename__ = "prompt_type"
    key: ClassVar[str] = "prompt_type_id"
    quota: ClassVar[Quota | NoQuota] = Quota("prompt types", per_application=1_000)

    prompt_type_id: str = AssignedId()
    name: str
    description: str = ""
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class Prompt(Tenanted, table=True):
    """A message with which an app asks users to do or to notice something."""

    key: ClassVar[str] = "prompt_id"
    quota: ClassVar[Quota | NoQuota] = Quota("prompts", per_application=10_000)

    prompt_id: str = AssignedId()
    prompt_type_id: str = Field(foreign_key="prompt_type.prompt_type_id", index=True)
    name: str
    message: str = ""
    data: Any = Field(default=None, sa_type=JsonColumn)
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class PromptUser(Tenanted, table=True):
    """The status of a prompt for one user."""

    __tablename__ = "prompt_user"
    key: ClassVar[str] = "prompt_user_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("states of prompts", per_user=5_000)

    prompt_user_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    prompt_id: str = Field(foreign_key="prompt.prompt_id", index=True)
    status: str = "shown"
    data: Any = Field(default=None, sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class UserActionType(Tenanted, table=True):
    """A type of user action in an app."""

    __tablename__ = "user_action_type"
    key: ClassVar[str] = "user_action_type_id"
    quota: ClassVar[Quota | NoQuota] = Quota("user action types", per_application=1_000)

    user_action_type_id: str = AssignedId()
    name: str
    description: str = ""
    active: bool = True
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()


class UserAction(Tenanted, table=True):
    """An action of a user in an app."""

    __tablename__ = "user_action"
    key: ClassVar[str] = "user_action_id"
    owner: ClassVar[str | None] = "user_id"
    quota: ClassVar[Quota | NoQuota] = Quota("user actions", per_user=1_000)

    user_action_id: str = AssignedId()
    user_id: str = Field(foreign_key="app_user.user_id", index=True)
    user_action_type_id: str = Field(foreign_key="user_action_type.user_action_type_id", index=True)
    data: Any = Field(default=None, sa_type=JsonColumn)
    created_at: datetime = created_at_field()
    updated_at: datetime = updated_at_field()
